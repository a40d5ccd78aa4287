package query

import (
	"encoding/base64"
	"time"

	"docket/internal/record"
)

// labelView is a label as the API shows it.
type labelView struct {
	Time        time.Time `json:"time"`
	Project     string    `json:"project"`
	Criterion   string    `json:"criterion"`
	InferenceID string    `json:"inference_id"`
	Annotator   string    `json:"annotator"`
	Label       string    `json:"label"`
	Comment     *string   `json:"comment"`
	SelectionP  *float64  `json:"selection_p"`
}

func newLabelView(l record.Label) labelView {
	v := labelView{
		Time: l.Time, Project: l.Project, Criterion: l.Criterion, InferenceID: l.InferenceID,
		Annotator: l.Annotator, Label: l.Label, Comment: optional(l.Comment),
	}
	if l.SelectionP > 0 {
		v.SelectionP = &l.SelectionP
	}
	return v
}

func newLabelViews(rows []record.Label) []labelView {
	views := make([]labelView, len(rows))
	for i, l := range rows {
		views[i] = newLabelView(l)
	}
	return views
}

// cookieText carries any text in a cookie.
func cookieText(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// fromCookieText is "" for what cookieText did not write.
func fromCookieText(s string) string {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) > 4*maxAnnotator {
		return ""
	}
	return string(b)
}
