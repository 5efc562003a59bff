module github.com/toolfold/toolfold

go 1.26

require github.com/santhosh-tekuri/jsonschema/v5 v5.3.1

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)
