package runner

// semgrep runs the project's own rules. It only runs in trusted projects, because rules may take
// unlimited time and may be downloaded.
var semgrep = Runner{
	Name: "semgrep", Job: "rules of the project", Files: append(append(scripts[:1:1], python...), golang...), Needs: true,
	Config:  []string{".semgrep.yml", ".semgrep.yaml", "semgrep.yml", "semgrep.yaml", ".semgrep"},
	Args:    []string{"scan", "--config", "{config}", "--sarif", "--quiet", "--metrics=off", "--disable-version-check", "--"},
	Install: "pipx install semgrep",
	Count:   Count{Runes, 1, 1}, Read: readSARIF,
	Bugs: map[string]string{"": "other"},
}
