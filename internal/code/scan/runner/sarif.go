package runner

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// sarif is the part of a SARIF 2.1.0 log that is used.
type sarif struct {
	Runs []struct {
		Results []struct {
			RuleID       string `json:"ruleId"`
			Level        string
			Message      struct{ Text string }
			Suppressions []struct{}
			Locations    []struct{ PhysicalLocation sarifLocation }
			Fixes        []struct {
				Description     struct{ Text string }
				ArtifactChanges []struct {
					ArtifactLocation struct{ URI string }
					Replacements     []struct {
						DeletedRegion   sarifRegion
						InsertedContent struct{ Text string }
					}
				}
			}
		}
		Tool struct {
			Driver struct {
				Rules []struct {
					ID                   string
					DefaultConfiguration struct{ Level string }
					Properties           struct{ Tags []string }
				}
			}
		}
	}
}

type sarifLocation struct {
	ArtifactLocation struct{ URI string }
	Region           sarifRegion
}

type sarifRegion struct{ StartLine, StartColumn, EndLine, EndColumn int }

// readSARIF reads a log. The level of a result defaults to its rule's level, then to warning, as
// the standard specifies. A fix counts if it is the only one and only changes the result's file.
func readSARIF(output []byte) ([]Report, error) {
	var log sarif
	if err := json.Unmarshal(output, &log); err != nil {
		return nil, err
	}
	var list []Report
	for _, run := range log.Runs {
		levels, security := map[string]string{}, map[string]bool{}
		for _, rule := range run.Tool.Driver.Rules {
			levels[rule.ID] = rule.DefaultConfiguration.Level
			security[rule.ID] = slices.Contains(rule.Properties.Tags, "security")
		}
		for _, result := range run.Results {
			if len(result.Locations) == 0 || len(result.Suppressions) > 0 {
				continue
			}
			place := result.Locations[0].PhysicalLocation
			r := Report{Rule: result.RuleID, File: sarifFile(place.ArtifactLocation.URI), Message: result.Message.Text,
				Word: cmp.Or(result.Level, levels[result.RuleID], "warning"), At: place.Region.start(),
				Security: security[result.RuleID]}
			if len(result.Fixes) == 1 && len(result.Fixes[0].ArtifactChanges) == 1 {
				change := result.Fixes[0].ArtifactChanges[0]
				for _, replaced := range change.Replacements {
					if change.ArtifactLocation.URI == place.ArtifactLocation.URI {
						r.Advice = result.Fixes[0].Description.Text
						r.Fix = append(r.Fix, Edit{replaced.DeletedRegion.start(), replaced.DeletedRegion.end(), replaced.InsertedContent.Text})
					}
				}
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// start returns the start of a region.
func (r sarifRegion) start() Place { return Place{Line: r.StartLine, Column: max(r.StartColumn, 1)} }

// end returns the end of a region. It defaults to the end of the start line.
func (r sarifRegion) end() Place {
	return Place{Line: cmp.Or(r.EndLine, r.StartLine), Column: cmp.Or(r.EndColumn, 1<<30)}
}

// sarifFile returns the file name of a URI.
func sarifFile(uri string) string {
	name, err := url.PathUnescape(strings.TrimPrefix(uri, "file://"))
	if err != nil {
		return uri
	}
	return name
}
