package scan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The expected share of the well-known faults planted in realistic code, marked there with "bug:",
// is found without tools of the project, at any severity. A line without a fault has no finding
// above low severity. The authors know these faults, so the share shows coverage, not how many
// faults of other code are found.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for folder, percent := range map[string]int{"go": 36, "python": 34, "typescript": 18} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			s := workspaceOf(t, "planted/"+folder)
			report := s.must(t, Request{Purpose: Bugs})
			for _, skipped := range report.Skipped {
				t.Errorf("%s was skipped: %s", skipped.Path, skipped.Reason)
			}
			planted := plantedIn(t, s)
			found, weighty, heavy := map[string]string{}, Levels[Bugs][:slices.Index(Levels[Bugs], "medium")+1], 0
			for _, f := range report.Findings {
				isWeighty := slices.Contains(weighty, f.Level)
				for _, line := range append([]int{f.Line}, f.Again...) {
					place := fmt.Sprintf("%s:%d", f.File, line)
					switch {
					case planted[place] == "" && !isWeighty:
						continue
					case isWeighty:
						heavy++
					}
					if planted[place] == "" {
						t.Errorf("%s is right, and yet: %s: %s", place, f.Rule, f.Message)
					}
					if found[place] != "" {
						t.Errorf("%s is found twice: %s and %s", place, found[place], f.Rule)
					}
					found[place] = f.Rule
				}
			}
			for place, fault := range planted {
				t.Logf("%-14s %-36s %s", place, fault, found[place])
			}
			t.Logf("%d of %d are found, %d with severity medium or above", len(found), len(planted), heavy)
			if len(planted) < 20 {
				t.Errorf("only %d faults are planted", len(planted))
			}
			if len(found)*100 < percent*len(planted) {
				t.Errorf("%d of %d are found, less than %d %%", len(found), len(planted), percent)
			}
		})
	}
}

// plantedIn returns the marks in the files of a workspace, by "file:line".
func plantedIn(t *testing.T, s Scanner) map[string]string {
	t.Helper()
	planted := map[string]string{}
	files, err := filepath.Glob(filepath.Join(s.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		for i, line := range strings.Split(s.read(t, name), "\n") {
			if _, fault, ok := strings.Cut(line, " bug: "); ok {
				planted[fmt.Sprintf("%s:%d", name, i+1)] = fault
			}
		}
	}
	return planted
}
