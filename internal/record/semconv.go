package record

// OpenTelemetry GenAI attribute names, as of semantic conventions 1.41.0: the
// last release with them in the main repository (all are in development).
const (
	SchemaURL = "https://opentelemetry.io/schemas/1.41.0"

	AttrOperation         = "gen_ai.operation.name"
	AttrProvider          = "gen_ai.provider.name"
	AttrRequestModel      = "gen_ai.request.model"
	AttrRequestStream     = "gen_ai.request.stream"
	AttrResponseID        = "gen_ai.response.id"
	AttrResponseModel     = "gen_ai.response.model"
	AttrFinishReasons     = "gen_ai.response.finish_reasons"
	AttrTimeToFirstChunk  = "gen_ai.response.time_to_first_chunk"
	AttrConversationID    = "gen_ai.conversation.id"
	AttrPromptName        = "gen_ai.prompt.name"
	AttrPromptVersion     = "gen_ai.prompt.version"
	AttrUsageInput        = "gen_ai.usage.input_tokens" // all input, cached included
	AttrUsageOutput       = "gen_ai.usage.output_tokens"
	AttrUsageCacheRead    = "gen_ai.usage.cache_read.input_tokens"
	AttrUsageCacheWrite   = "gen_ai.usage.cache_creation.input_tokens"
	AttrUsageReasoning    = "gen_ai.usage.reasoning.output_tokens"
	AttrInputMessages     = "gen_ai.input.messages"
	AttrOutputMessages    = "gen_ai.output.messages"
	AttrToolDefinitions   = "gen_ai.tool.definitions"
	AttrEvaluationName    = "gen_ai.evaluation.name"
	AttrEvaluationScore   = "gen_ai.evaluation.score.value"
	AttrEvaluationLabel   = "gen_ai.evaluation.score.label"
	AttrEvaluationExplain = "gen_ai.evaluation.explanation"
	EventEvaluationResult = "gen_ai.evaluation.result"

	AttrErrorType     = "error.type"
	AttrServerAddress = "server.address"
	AttrServerPort    = "server.port"
	AttrHTTPMethod    = "http.request.method"
	AttrHTTPStatus    = "http.response.status_code"
	AttrURLPath       = "url.path"
	AttrServiceName   = "service.name"
	AttrInstanceID    = "service.instance.id"
	AttrEnvironment   = "deployment.environment.name"
)

// Docket's own attribute names.
const (
	AttrInferenceID     = "docket.inference.id"
	AttrUpstream        = "docket.upstream"
	AttrSampleValue     = "docket.sample.rv"
	AttrCaptureComplete = "docket.capture.complete"
	AttrTerminalState   = "docket.terminal_state"
	AttrRedacted        = "docket.redacted" // what redaction did to the stored content
	AttrToolNames       = "docket.tool.names"
	AttrProject         = "docket.project"
	AttrJudgeModel      = "docket.judge.model"
	AttrJudgeConfig     = "docket.judge.config"
	AttrCriterionVer    = "docket.criterion.version"
	AttrRubric          = "docket.rubric"
	AttrThreshold       = "docket.threshold"
	AttrInclusionP      = "docket.sampling.probability"
	AttrOrigin          = "docket.origin"
	AttrVerdictID       = "docket.verdict.id"
	AttrJudgeCallID     = "docket.judge.call.id"
	AttrOriginalTime    = "docket.original_time" // of a row whose time could not be stored
)
