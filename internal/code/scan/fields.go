package scan

import "github.com/toolfold/toolfold"

// The parameters of both families.
var (
	Paths = toolfold.List{
		Name: "paths", Doc: "Files and folders in the workspace; absent = all.", MinItems: 1, MaxItems: 100,
		Of: toolfold.String{MinLen: 1, MaxLen: 1000},
	}
	Exclude = toolfold.List{
		Name: "excludePatterns", Doc: "Globs such as **/gen/** or *.min.js. .gitignore holds too.", MaxItems: 50,
		Of: toolfold.String{MinLen: 1, MaxLen: 500},
	}
	MaxFiles = toolfold.Int{Name: "maxFiles", Doc: "Most files to scan.", Min: 1, Max: 10_000}
	DryRun   = toolfold.Bool{Name: "dryRun", Doc: "Only show the diff."}
	Backup   = toolfold.Bool{Name: "createBackup", Doc: "Keep a copy of the files."}
	ScanID   = toolfold.UUID("scanId", "The scan; absent = the newest.")
	RunTests = toolfold.Bool{Name: "runTests", Doc: "Run the test command; restore the files if it fails."}
	Rule     = toolfold.String{Name: "rule", Doc: "Instead: all of this rule that the newest scan found.", MinLen: 1, MaxLen: 100}
	File     = toolfold.String{Name: "file", Doc: "Instead: all in this file.", MinLen: 1, MaxLen: 1000}
	Limit    = toolfold.Int{Name: "limit", Doc: "Most findings to return.", Min: 1, Max: 500}
)

// MaxAtOnce bounds how many findings one call may fix by id.
const MaxAtOnce = 200

// ScanIn holds the arguments of scans. Embed it in the arguments of an action.
type ScanIn struct {
	Paths           []string `json:"paths"`
	Since           string   `json:"since"`
	ExcludePatterns []string `json:"excludePatterns"`
	MaxFiles        int      `json:"maxFiles"`
}

// Request converts the arguments to a Request. Without paths, it covers the whole workspace.
func (in ScanIn) Request() Request {
	if len(in.Paths) == 0 {
		in.Paths = []string{"."}
	}
	return Request{Paths: in.Paths, Since: in.Since, Exclude: in.ExcludePatterns, MaxFiles: in.MaxFiles}
}

// FixIn holds the arguments of fixes. Embed it in the arguments of an action.
type FixIn struct {
	DryRun       bool `json:"dryRun"`
	AutoApply    bool `json:"autoApply"`
	CreateBackup bool `json:"createBackup"`
	RunTests     bool `json:"runTests"`

	Rule string `json:"rule"`
	File string `json:"file"`
}

func (in FixIn) writes() bool { return !in.DryRun && in.AutoApply }
