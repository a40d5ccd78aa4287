package capture

// Request headers by which a client says what a call belongs to. They are read
// here and removed by the proxy before the call goes upstream. Values longer
// than 256 bytes are cut on a rune; a list keeps its first 32 entries.
const (
	HeaderPrefix         = "Docket-"                // every header with it is ours
	HeaderCapture        = "Docket-Capture"         // off, metadata or full: how much is kept; it can only lower what the route allows
	HeaderConversationID = "Docket-Conversation-Id" // groups the turns of a conversation
	HeaderUser           = "Docket-User"            // the end user, in the client's own terms
	HeaderPromptName     = "Docket-Prompt-Name"     // name of the prompt template
	HeaderPromptVersion  = "Docket-Prompt-Version"  // its version
	HeaderTags           = "Docket-Tags"            // comma-separated
	HeaderEnvironment    = "Docket-Environment"     // such as production, staging
	HeaderProject        = "Docket-Project"         // which project's tables and rules the call belongs to
	HeaderSources        = "Docket-Sources"         // what the answer may rest on, for the judge; JSON or text, up to 8 KiB
	HeaderMetadataPrefix = "Docket-Metadata-"       // Docket-Metadata-<name>: kept as attribute metadata.<name>
	HeaderKey            = "Docket-Key"             // a gateway key, beside a key for the upstream
	HeaderInternal       = "Docket-Internal"        // set on Docket's own calls: recorded as such and never judged
	HeaderInferenceID    = "Docket-Inference-Id"    // response header, when the proxy is told to send it
)
