package judge

import _ "embed"

// The built-in wordings. Their hash is part of every judge_config.

//go:embed questions/applies_no_when.tmpl
var textAppliesNoWhen string

//go:embed questions/applies_question.tmpl
var textAppliesQuestion string

//go:embed questions/applies_statement.tmpl
var textAppliesStatement string

//go:embed questions/applies_yes_when.tmpl
var textAppliesYesWhen string

//go:embed questions/canary_no_when.tmpl
var textCanaryNoWhen string

//go:embed questions/canary_question.tmpl
var textCanaryQuestion string

//go:embed questions/canary_statement.tmpl
var textCanaryStatement string

//go:embed questions/canary_yes_when.tmpl
var textCanaryYesWhen string

//go:embed questions/chat_format_reason.tmpl
var textChatFormatReason string

//go:embed questions/chat_format_score.tmpl
var textChatFormatScore string

//go:embed questions/chat_format_word.tmpl
var textChatFormatWord string

//go:embed questions/chat_system.tmpl
var textChatSystem string

//go:embed questions/chat_user.tmpl
var textChatUser string

//go:embed questions/conversation_question.tmpl
var textConversationQuestion string

//go:embed questions/no_when.tmpl
var textNoWhen string

//go:embed questions/reply_question.tmpl
var textReplyQuestion string

//go:embed questions/reply_statement.tmpl
var textReplyStatement string

//go:embed questions/yes_when.tmpl
var textYesWhen string

// wordings lists what can change an answer, in a fixed order.
func wordings() []string {
	return []string{
		textAppliesNoWhen,
		textAppliesQuestion,
		textAppliesStatement,
		textAppliesYesWhen,
		textCanaryNoWhen,
		textCanaryQuestion,
		textCanaryStatement,
		textCanaryYesWhen,
		textChatFormatReason,
		textChatFormatScore,
		textChatFormatWord,
		textChatSystem,
		textChatUser,
		textConversationQuestion,
		textNoWhen,
		textReplyQuestion,
		textReplyStatement,
		textYesWhen,
	}
}
