package redact

import (
	"encoding/json"
	"testing"
)

func TestValue(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"postgres://me:hunter2@db/work":                       "postgres://me:xxxxx@db/work",
		"postgres://me:hunter2@h1:1,h2:2/work":                "postgres://me:xxxxx@h1:1,h2:2/work",
		"postgres://me:hun%zzter2@db/work":                    "postgres://me:xxxxx@db/work",
		"postgres://me:hun@ter/2@db/work":                     "postgres://me:xxxxx@db/work",
		"postgres://me:hun?ter#2@db/work":                     "postgres://me:xxxxx@db/work",
		"postgres://:hunter2@db/work":                         "postgres://:xxxxx@db/work",
		"postgres://me:@db/work":                              "postgres://me:xxxxx@db/work",
		"https://hunter2@example.com/v1":                      "https://xxxxx@example.com/v1",
		"postgres:///work?user=me&password=hunter2":           "postgres:///work?user=me&password=xxxxx",
		"postgres:///work?sslpassword=hunter2&sslmode=verify": "postgres:///work?sslpassword=xxxxx&sslmode=verify",
		"postgres:///work?PASSWORD=hunter2":                   "postgres:///work?PASSWORD=xxxxx",
		"postgres:///work?pass%77ord=hunter2":                 "postgres:///work?pass%77ord=xxxxx",
		"postgres:///work?password=hun%zzter2;a=b":            "postgres:///work?password=xxxxx;a=b",
		"https://h/v1?token=hunter2":                          "https://h/v1?token=xxxxx",
		"https://h/v1?access_token=hunter2&x=1":               "https://h/v1?access_token=xxxxx&x=1",
		"https://h/v1?key=hunter2":                            "https://h/v1?key=xxxxx",
		"https://h/v1?api-key=hunter2":                        "https://h/v1?api-key=xxxxx",
		"https://h/v1?X-Amz-Signature=hunter2":                "https://h/v1?X-Amz-Signature=xxxxx",
		"https://h/v1?auth[]=hunter2":                         "https://h/v1?auth[]=xxxxx",
		"https://h/v1#access_token=hunter2":                   "https://h/v1#access_token=xxxxx",
		"host=db user=me password=hunter2 dbname=work":        "host=db user=me password=xxxxx dbname=work",
		"host=db password = 'hunter 2' dbname=work":           "host=db password = xxxxx dbname=work",
		"--api-key=hunter2":                                   "--api-key=xxxxx",
		"Authorization: Bearer hunter2":                       "Authorization: Bearer xxxxx",
	} {
		if got := Value(secret); got != want {
			t.Errorf("%s\n shown as %v\n    want %s", secret, got, want)
		}
	}
	for _, open := range []string{
		"sqlite:///home/me/work.db", "http://127.0.0.1:11434/v1", "postgres:///work?sslmode=disable", "127.0.0.1:8080", "claude -p",
		"https://h/v1?model=a&keyboard=b", "memory:", "a@b",
	} {
		if got := Value(open); got != open {
			t.Errorf("%s is shown as %v", open, got)
		}
	}
	settings := map[string]any{
		"password": "hunter2", "apiKey": "hunter2", "apiKeyEnv": "MY_KEY", "httpTokenFile": "/f", "maxTokens": 5.0,
		"command": []any{"curl", "--token", "hunter2", "-k", "x"},
	}
	want := `{"apiKey":"xxxxx","apiKeyEnv":"MY_KEY","command":["curl","--token","xxxxx","-k","x"],"httpTokenFile":"/f",` +
		`"maxTokens":5,"password":"xxxxx"}`
	if got, err := json.Marshal(Value(settings)); err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}
