# toolfold over HTTP in an image with nothing else in it:
#
#   docker build -t toolfold .
#   docker run -p 127.0.0.1:8137:8137 -v toolfold:/data -v "$PWD/token:/token:ro" toolfold \
#     --http 0.0.0.0:8137 --http-token-file /token --allowed-hosts localhost,127.0.0.1
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -ldflags="-s -w" -o /toolfold ./cmd/toolfold && mkdir -p /empty/data /empty/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /empty/data /data
COPY --from=build --chown=65532:65532 /empty/tmp /tmp
COPY --from=build /toolfold /toolfold
USER 65532:65532
ENV HOME=/data XDG_DATA_HOME=/data XDG_CONFIG_HOME=/data
WORKDIR /data
EXPOSE 8137
ENTRYPOINT ["/toolfold", "serve"]
