package audit

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"
)

// The part of SARIF 2.1.0 that code hosts read.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Short   sarifText    `json:"shortDescription"`
		Full    sarifText    `json:"fullDescription"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// WriteSARIF writes the result as a SARIF 2.1.0 log, which code hosts show
// beside the code. File names below the directory looked at are relative to
// %SRCROOT%.
func (r *Result) WriteSARIF(w io.Writer) error {
	run := sarifRun{
		Tool:        sarifTool{sarifDriver{Name: "rcctl audit", InformationURI: "https://github.com/rcctl/rcctl", Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{Successful: true}},
		Results:     []sarifResult{},
	}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.ID()] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: rule.ID(), Short: sarifText{rule.Title()}, Full: sarifText{rule.Analyzer.Doc},
			Default: sarifDefault{sarifLevel(rule.Information)},
		})
	}
	for _, s := range r.Skipped {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications,
			sarifNotification{"warning", sarifText{"skipped: " + s.Package + ": " + s.Reason}})
	}
	for _, f := range r.Findings {
		res := sarifResult{RuleID: f.Rule, RuleIndex: index[f.Rule], Level: sarifLevel(f.Information),
			Message: sarifText{f.Message}, Locations: []sarifLocation{sarifPlace(f.Place)}}
		for _, p := range f.Related {
			res.Related = append(res.Related, sarifPlace(p))
		}
		run.Results = append(run.Results, res)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func sarifLevel(information bool) string {
	if information {
		return "note"
	}
	return "warning"
}

func sarifPlace(p Place) sarifLocation {
	loc := sarifLocation{Physical: sarifPhysical{
		Region: sarifRegion{p.Line, p.Column, p.EndLine, p.EndColumn},
	}}
	a := &loc.Physical.Artifact
	if filepath.IsAbs(p.File) {
		a.URI = (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(p.File), "/")}).String()
	} else {
		a.URI, a.BaseID = (&url.URL{Path: p.File}).String(), "%SRCROOT%"
	}
	if p.Message != "" {
		loc.Message = &sarifText{p.Message}
	}
	return loc
}
