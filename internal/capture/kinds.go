package capture

import (
	"time"

	"github.com/google/uuid"
)

// Kinds of spool records.
const (
	KindBoot    byte = 1 // a recorder started: exchanges of other lives that are still open have died
	KindBegin   byte = 2 // an exchange goes upstream; head and, if it is there, the request body
	KindRequest byte = 3 // the request body that begin could not hold
	KindDone    byte = 4 // the provider's end event was seen; the answer up to it
	KindEnd     byte = 5 // the exchange ended; what of both bodies is not in the others
	KindGap     byte = 6 // counts of what could not be kept
)

// boot is the head of a boot record.
type boot struct {
	Life uint64 // random, one per Recorder
	Time time.Time
}

// beginHead is the head of a begin record.
type beginHead struct {
	ID   uuid.UUID
	Life uint64
	Time time.Time

	Project, Environment, Instance                string
	Upstream, API, Provider                       string
	ServerAddress                                 string
	ServerPort                                    int
	Method, Path, UpstreamPath, Query             string
	TraceID, SpanID, ParentSpanID, UpstreamSpanID string
	TraceFlags                                    uint8
	TraceState                                    string
	SampleValue                                   uint64
	ConversationID, UserID                        string
	PromptName, PromptVersion, Sources            string
	Tags                                          []string
	Level                                         string
	Internal                                      bool
	Headers                                       []string // name, value, name, value ...
	Attributes                                    []string // likewise
	Defaults                                      uint64   // which fields nobody has said: defaultProject, defaultEnvironment
	Request                                       bodyInfo // zero when the body follows
}

// Bits of beginHead.Defaults. They are stored: never renumber.
const (
	defaultProject = 1 << iota
	defaultEnvironment
)

// bodyInfo says what a stored body is of.
type bodyInfo struct {
	Present bool // the body, or its absence by choice, is known here
	Whole   bool // the sender finished it
	Size    uint64
	CRC     uint32
	Cut     bool // the copy is shorter than Size
}

// requestHead is the head of a request record.
type requestHead struct {
	ID      uuid.UUID
	Request bodyInfo
}

// endHead is the head of a done and of an end record.
type endHead struct {
	ID         uuid.UUID
	Time       time.Time
	State      string
	Status     int
	Error      string
	Sent       bool     // the answer's head came from the upstream
	Headers    []string // of the answer
	Attributes []string // that came up during the exchange
	FirstByte  time.Duration
	HasFirst   bool
	Duration   time.Duration
	Chunks     uint32
	EndEvent   bool // the provider's end event was seen
	BodyEnded  bool // the transport ended the answer as announced
	Response   bodyInfo
	Request    bodyInfo
	RequestLen int // bytes of the request body in this record, before the answer
}
