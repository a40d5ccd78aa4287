package capture

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"docket/internal/record"
	"docket/internal/redact"
)

const gapInterval = time.Second

// Options are what the wiring gives a Recorder.
type Options struct {
	Spool    Spool            // nil when it could not be opened: then everything is counted as spool_closed
	Clock    func() time.Time // nil: time.Now
	Log      *slog.Logger     // nil: none
	Instance string           // name of this proxy

	// MaxWait is how long a call waits for a small request body to arrive, so
	// that the begin record can hold it. Zero: 20 ms.
	MaxWait time.Duration

	// SampleValue gives the 56-bit randomness of a trace: sampling.Value.
	SampleValue func(traceID, traceState string, flags byte) uint64

	Registerer prometheus.Registerer // nil: no metrics
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 20 * time.Millisecond
	}
	if o.SampleValue == nil {
		o.SampleValue = func(string, string, byte) uint64 { return 0 }
	}
	return o
}

// Recorder copies exchanges aside. It is safe for concurrent use.
type Recorder struct {
	cfg      Config
	opts     Options
	life     uint64 // random: tells the exchanges of this process from those of earlier ones
	mem      *memory
	gaps     gapCounter
	metrics  *recorderMetrics
	headers  headerFilter
	metadata metadataHeaders
	ids      []string     // headers that name conversations and users, and our own
	heads    sync.Pool    // of *[]byte
	appended atomic.Int64 // spool records of this life

	mu     sync.Mutex // guards booted, since and late
	booted bool
	since  record.Position // of the boot record
	late   lateEnds
}

// NewRecorder returns a Recorder and appends its boot record. When that fails,
// Run tries again.
func NewRecorder(cfg Config, opts Options) *Recorder {
	r := &Recorder{
		cfg: cfg, opts: opts.withDefaults(), life: randomLife(), mem: newMemory(int64(cfg.BufferBytes)),
		headers: headerFilter{extra: lowered(cfg.KeepHeaders)},
	}
	r.ids = append(lowered(cfg.identityHeaders()), strings.ToLower(HeaderPrefix)+"*")
	r.cfg.canonical()
	r.metadata = newMetadataHeaders(cfg.MetadataHeaders)
	r.heads.New = func() any { b := make([]byte, 0, 1024); return &b }
	r.metrics = newRecorderMetrics(opts.Registerer, r)
	r.boot()
	return r
}

func randomLife() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) | 1
}

// boot appends the boot record unless that is done.
func (r *Recorder) boot() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.booted || r.opts.Spool == nil {
		return
	}
	w := fieldWriter{}
	boot{Life: r.life, Time: r.opts.Clock()}.write(&w)
	lead := binary.AppendUvarint(nil, uint64(len(w.out)))
	pos, err := r.opts.Spool.AppendReserved(context.Background(), KindBoot, lead, w.out)
	if failure := classify(err); failure != "" && failure != record.GapAtRisk {
		r.opts.Log.Warn("boot record not appended, trying again", "error", err)
		return
	}
	r.booted, r.since = true, pos
	r.appended.Add(1)
}

// ofThisLife says whether a spool record was appended by this Recorder.
func (r *Recorder) ofThisLife(pos record.Position) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.booted && pos.Compare(r.since) >= 0
}

// Run appends what was counted as gaps, once a second, until ctx ends, and then
// once more.
func (r *Recorder) Run(ctx context.Context) error {
	tick := time.NewTicker(gapInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.Flush()
		case <-ctx.Done():
			r.Flush()
			return nil
		}
	}
}

// Flush appends the gaps counted so far, and the ends that found no room.
func (r *Recorder) Flush() {
	if r.opts.Spool == nil {
		return
	}
	r.boot()
	r.flushLate()
	gaps := r.gaps.takeAll(r.opts.Instance)
	if len(gaps) == 0 {
		return
	}
	data, err := encodeGaps(gaps)
	if err != nil {
		r.opts.Log.Error("gaps not recorded", "error", err)
		return
	}
	_, err = r.opts.Spool.AppendReserved(context.Background(), KindGap, data)
	if failure := classify(err); failure != "" && failure != record.GapAtRisk {
		r.gaps.putBack(gaps)
		return
	}
	r.appended.Add(1)
}

// SpoolLost tells that a record which was queued could not be written after
// all. It only counts, so that the spool may call it from where it writes.
func (r *Recorder) SpoolLost(kind byte, size int, reason string) {
	r.appended.Add(-1)
	gap := record.GapDiskFull
	if kind == KindEnd || kind == KindDone {
		gap = record.GapUnknownEnd
	}
	r.gap(r.cfg.Project, gap, uint64(max(size, 0)), reason)
}

func (r *Recorder) gap(project, reason string, size uint64, detail string) {
	r.metrics.gaps.WithLabelValues(reason).Inc()
	r.gaps.add(r.opts.Clock(), project, reason, 1, size, detail)
}

// Begin starts the record of a call. It never fails and never returns nil.
func (r *Recorder) Begin(b Begin) *Exchange {
	x := &Exchange{r: r, length: -1}
	level := levelOf(b.Level, r.cfg.Level, b.Header.Get(HeaderCapture))
	r.metrics.exchanges.WithLabelValues(level).Inc()
	if b.Start.IsZero() {
		b.Start = r.opts.Clock()
	}
	h := &x.head
	r.cfg.identify(h, b.Header)
	h.Project = orElse(bounded(b.Project, maxValueBytes), h.Project)
	r.cfg.fillDefaults(h)
	if level == record.CaptureOff {
		r.gap(h.Project, record.GapCaptureOff, 0, "")
		x.off = true
		return x
	}
	if r.opts.Spool == nil {
		r.gap(h.Project, record.GapSpoolClosed, 0, "")
		x.off, x.lost = true, true
		return x
	}
	x.secrets = r.secretsOf(b)
	h.ID, h.Life, h.Time, h.Level, h.Instance = newID(), r.life, b.Start, level, r.opts.Instance
	h.Upstream, h.API, h.Provider = b.Upstream, b.API, b.Provider
	h.ServerAddress, h.ServerPort = b.ServerAddress, b.ServerPort
	h.Method, h.Path, h.UpstreamPath = b.Method, bounded(b.Path, maxPathBytes), bounded(b.UpstreamPath, maxPathBytes)
	h.Query = bounded(redact.CleanQuery(b.RawQuery), maxPathBytes)
	h.TraceID, h.SpanID, h.ParentSpanID, h.UpstreamSpanID = b.TraceID, b.SpanID, b.ParentSpanID, b.UpstreamSpanID
	h.TraceFlags, h.TraceState = b.TraceFlags, bounded(b.TraceState, maxStateBytes)
	h.SampleValue = r.opts.SampleValue(b.TraceID, b.TraceState, b.TraceFlags)
	h.Headers = r.headers.append(nil, b.Header)
	h.Attributes = r.metadata.attributes(b)
	x.length = b.ContentLength
	x.expects = b.Header.Get("Expect") != ""
	x.req.init(r.mem, r.copyLimit(level), int(r.cfg.MaxValue))
	x.req.buf.form = newForm(b.Header)
	x.res.init(r.mem, r.copyLimit(level), int(r.cfg.MaxValue))
	return x
}

func (r *Recorder) copyLimit(level string) int {
	if level != record.CaptureFull {
		return 0
	}
	return int(r.cfg.MaxBody)
}

func newID() uuid.UUID {
	id, err := uuid.NewV7()
	if err != nil { // the system's random source never fails
		return uuid.New()
	}
	return id
}

// secretsOf gathers what must not be recorded of this call.
func (r *Recorder) secretsOf(b Begin) *redact.Secrets {
	var query url.Values
	if b.RawQuery != "" {
		// Some servers take ; for &. What does not parse is left out.
		query, _ = url.ParseQuery(strings.ReplaceAll(b.RawQuery, ";", "&"))
	}
	return redact.NewSecrets(b.Header, query, r.ids...)
}
