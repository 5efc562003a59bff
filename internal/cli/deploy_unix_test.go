//go:build unix

package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/toolfold/toolfold/internal/test/testwait"
	"github.com/toolfold/toolfold/serve"
)

const deployed = "../../deploy/"

// stops is the time that a server may take to end after SIGTERM.
const stops = serve.DefaultDrain + 5*time.Second

// TestDeploy starts a server as each of the files in deploy does, and asks what they ask.
func TestDeploy(t *testing.T) {
	t.Parallel()
	t.Run("compose", func(t *testing.T) { t.Parallel(); composeServes(t) })
	t.Run("kubernetes", func(t *testing.T) { t.Parallel(); kubernetesServes(t) })
}

func composeServes(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Environment map[string]string
			Volumes     []string
			Grace       string `yaml:"stop_grace_period"`
		}
	}
	readDeployed(t, "compose.yaml", &file)
	balancer := file.Services["balancer"].Environment["SERVERS"]
	servers := 0
	for name, s := range file.Services {
		if !strings.HasPrefix(name, "toolfold") {
			continue
		}
		servers++
		if grace, err := time.ParseDuration(s.Grace); err != nil || grace < stops {
			t.Errorf("%s is killed after %v %v, before it has ended", name, grace, err)
		}
		_, port, _ := strings.Cut(s.Environment["TOOLFOLD_HTTP"], ":")
		if !slices.Contains(strings.Fields(balancer), name+":"+port) {
			t.Errorf("the balancer does not know %s:%s", name, port)
		}
		if !slices.Contains(s.Volumes, "./settings:"+s.Environment["XDG_CONFIG_HOME"]+"/toolfold:ro") {
			t.Errorf("%s reads its settings elsewhere: %v", name, s.Volumes)
		}
	}
	if servers != len(strings.Fields(balancer)) || servers < 2 {
		t.Errorf("there are %d servers, the balancer knows %s", servers, balancer)
	}
	settings := map[string]string{}
	for _, name := range []string{"config.json", "rights.yaml"} {
		settings[name] = string(deployedText(t, "settings/"+name))
	}
	_, probe, _ := strings.Cut(string(deployedText(t, "Caddyfile")), "health_uri ")
	probe, _, _ = strings.Cut(probe, "\n")
	serves(t, file.Services["toolfold-1"].Environment, settings, probe)
}

// manifest is what the test reads of an object of Kubernetes.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Ports []struct {
			Target string `yaml:"targetPort"`
		}
		Template struct {
			Spec struct {
				Grace      int `yaml:"terminationGracePeriodSeconds"`
				Containers []struct {
					Ports []struct {
						Name string
						Port string `yaml:"containerPort"`
					}
					Env       []struct{ Name, Value string }
					Startup   probe `yaml:"startupProbe"`
					Readiness probe `yaml:"readinessProbe"`
					Liveness  probe `yaml:"livenessProbe"`
					Lifecycle struct {
						PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
					}
					Mounts []struct {
						Path string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

type probe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

func kubernetesServes(t *testing.T) {
	objects := map[string]manifest{}
	for dec := yaml.NewDecoder(bytes.NewReader(deployedText(t, "kubernetes.yaml"))); ; {
		var m manifest
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		objects[m.Kind] = m
	}
	pod := objects["Deployment"].Spec.Template.Spec
	c := pod.Containers[0]
	set := map[string]string{}
	for _, e := range c.Env {
		set[e.Name] = e.Value
	}
	if _, port, _ := strings.Cut(set["TOOLFOLD_HTTP"], ":"); port != c.Ports[0].Port {
		t.Errorf("it listens at port %s, the container's is %s", port, c.Ports[0].Port)
	}
	for _, port := range []string{
		objects["Service"].Spec.Ports[0].Target, c.Startup.Get.Port, c.Readiness.Get.Port, c.Liveness.Get.Port,
	} {
		if port != c.Ports[0].Name {
			t.Errorf("there is no port %s", port)
		}
	}
	grace, sleep := time.Duration(pod.Grace)*time.Second, time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second
	if grace < sleep+stops {
		t.Errorf("a pod is killed after %v, before it has ended", grace)
	}
	if c.Mounts[0].Path != set["XDG_CONFIG_HOME"]+"/toolfold" {
		t.Errorf("the settings are at %s", c.Mounts[0].Path)
	}
	serves(t, set, objects["ConfigMap"].Data, c.Startup.Get.Path, c.Readiness.Get.Path, c.Liveness.Get.Path)
}

// serves starts a server with variables and files of settings. Only the addresses of others and the store differ.
func serves(t *testing.T, set, settings map[string]string, probes ...string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	m := newSandbox(t)
	m.store = "memory:"
	folder := filepath.Join(m.home, "config", "toolfold")
	for name, text := range settings {
		m.write(t, filepath.Join(folder, name), text)
	}
	if out, err := m.command(t, "token", "add", "ci").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := m.command(t, "serve")
	for name, value := range set {
		if strings.HasPrefix(name, "TOOLFOLD_") && !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("there is no variable %s", name)
		}
		if name != "XDG_CONFIG_HOME" && name != "TOOLFOLD_STORE" {
			server.Env = append(server.Env, name+"="+value)
		}
	}
	server.Env = append(server.Env, "TOOLFOLD_HTTP=127.0.0.1:0", // a login, so that the rights are read
		`TOOLFOLD_HTTP_LOGIN={"issuer":"https://127.0.0.1:1","url":"https://tools.example.com/mcp"}`)
	p := start(t, server, nil)
	testwait.Until(t, "it serves or ends", func() bool { return strings.Contains(p.stderr.String(), " tools, ") || p.ends(0) })
	_, at, _ := strings.Cut(p.stderr.String(), "serving MCP at ")
	at, _, _ = strings.Cut(at, "/mcp\n")
	for _, path := range probes {
		response, err := http.Get(at + path)
		if err != nil {
			t.Fatalf("%s: %v, %s", path, err, p.stderr)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK || path == "" {
			t.Errorf("%s answers %d", path, response.StatusCode)
		}
	}
}

func readDeployed(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(deployedText(t, name), into); err != nil {
		t.Fatal(err)
	}
}

func deployedText(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(deployed + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
