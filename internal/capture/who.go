package capture

import (
	"cmp"
	"slices"
	"strings"

	"docket/internal/record"
	"docket/internal/wire"
)

const (
	metadataPrefix = "metadata."
	baggagePrefix  = "baggage."
)

// The names of fields in metadata and baggage that say who calls and about what,
// the first of them that is there. They stand here as squashed makes them:
// sessionid is session_id, sessionId, Session-Id and session.id.
func conversationFields() []string {
	return []string{"conversationid", "genaiconversationid", "sessionid", "langfusesessionid", "threadid", "chatid"}
}

func userFields() []string {
	return []string{"userid", "user", "enduserid", "enduser", "langfuseuserid", "traceuserid"}
}

func promptNameFields() []string    { return []string{"genaipromptname", "promptname", "promptid"} }
func promptVersionFields() []string { return []string{"genaipromptversion", "promptversion"} }
func tagFields() []string           { return []string{"tags", "langfusetags"} }
func projectFields() []string       { return []string{"project", "projectname", "projectid"} }

func environmentFields() []string {
	return []string{"environment", "env", "deploymentenvironmentname", "deploymentenvironment", "langfuseenvironment"}
}

func squashed(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
}

// fillFromFields fills what neither headers nor the API's own members say, from
// metadata, then from baggage.
func (x *exchange) fillFromFields(inf *record.Inference, dec *wire.Decoded) {
	fields := fieldsOf(inf.Attributes)
	if len(fields) == 0 {
		return
	}
	find := func(names []string) string {
		for _, name := range names {
			if v := fields[name]; v != "" {
				return v
			}
		}
		return ""
	}
	if inf.ConversationID == "" {
		if inf.ConversationID = find(conversationFields()); inf.ConversationID != "" {
			inf.ConversationSource = record.ConversationHeader
			if saysSo(dec.Metadata, inf.ConversationID) {
				inf.ConversationSource = record.ConversationBody
			}
		}
	}
	inf.UserID = orElse(inf.UserID, find(userFields()))
	inf.PromptName = orElse(inf.PromptName, find(promptNameFields()))
	inf.PromptVersion = orElse(inf.PromptVersion, find(promptVersionFields()))
	if tags := find(tagFields()); len(inf.Tags) == 0 && tags != "" {
		inf.Tags = list(nil, []string{tags})
	}
	if v := find(projectFields()); v != "" && x.begin.Defaults&defaultProject != 0 {
		inf.Project = v
	}
	if v := find(environmentFields()); v != "" && x.begin.Defaults&defaultEnvironment != 0 {
		inf.Environment = v
	}
}

// fieldsOf are the attributes that come from metadata and baggage, by their
// squashed names.
func fieldsOf(attributes map[string]string) map[string]string {
	var names []string
	for name := range attributes {
		if strings.HasPrefix(name, baggagePrefix) || strings.HasPrefix(name, metadataPrefix) || isPrompt(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.SortFunc(names, func(a, b string) int { // what counts more comes later
		return cmp.Or(cmp.Compare(weight(a), weight(b)), cmp.Compare(b, a))
	})
	out := make(map[string]string, len(names))
	for _, name := range names {
		plain := strings.TrimPrefix(strings.TrimPrefix(name, baggagePrefix), metadataPrefix)
		out[squashed(plain)] = attributes[name]
	}
	return out
}

// isPrompt says whether an attribute is what the API itself says of the prompt.
func isPrompt(name string) bool {
	return name == record.AttrPromptName || name == record.AttrPromptVersion
}

func weight(name string) int {
	switch {
	case strings.HasPrefix(name, baggagePrefix):
		return 0
	case strings.HasPrefix(name, metadataPrefix):
		return 1
	}
	return 2
}

func saysSo(metadata map[string]string, value string) bool {
	for _, v := range metadata {
		if bounded(v, maxValueBytes) == value {
			return true
		}
	}
	return false
}
