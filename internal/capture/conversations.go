package capture

import (
	"context"
	"fmt"
	"strings"
	"time"

	"docket/internal/record"
	"docket/internal/wire"
)

// Calls without a conversation id of the client's are linked by what they say
// (history.go), or by the answer, or the items of an answer, that they name as
// said before. What began a conversation is found in the memory of this drainer,
// else in the store, which knows the conversations of other proxies and of
// earlier processes. So a call is linked only to one that was recorded: examples
// that every prompt starts with are no conversation. Items are found in memory
// only: the store does not know them.
//
// The id that a call gets is a function of its content and of what is stored
// before it. A batch that is built a second time after a crash may therefore give
// a call another id; it has the same token, so the first stays.

const (
	historyWindow  = 7 * 24 * time.Hour // how far back the store is searched
	repeatWindow   = 30 * time.Minute   // a first call of the same user that comes again is a branch
	absenceWindow  = 30 * time.Second   // how long it is remembered that the store does not know
	maxRemembered  = 1 << 15            // entries of each of two generations
	maxLookupFails = 3                  // then a batch is stored without what could not be looked up
	lookupTimeout  = 10 * time.Second
)

// Conversations is what a Drainer asks the store about earlier conversations.
type Conversations interface {
	// KnownConversations says which of these ids have an inference since then.
	KnownConversations(ctx context.Context, since time.Time, ids []string) (map[string]bool, error)
	// ConversationsOfResponses returns the conversations of those answers that
	// are stored since then and belong to one.
	ConversationsOfResponses(ctx context.Context, since time.Time, answers []record.ResponseKey) (map[record.ResponseKey]string, error)
}

// pending is a row of a batch whose conversation is not settled.
type pending struct {
	row      int
	history  history
	previous string   // response id
	named    []string // ids of items
	items    []string // ids of its own
}

// linker remembers conversations. It belongs to the drainer's goroutine.
type linker struct {
	digest     *digest
	young, old map[string]memo
	fails      int // lookups in a row
}

// memo says to which conversation a key belongs. The keys are hashes of
// histories and names of answers.
type memo struct {
	conversation string // "" when the store did not know it
	at           time.Time
}

func newLinker(key []byte) *linker { return &linker{digest: newDigest(key), young: map[string]memo{}} }

// note remembers an id by a copy, as it may be a piece of a body.
func (l *linker) note(key, conversation string, at time.Time) {
	if len(l.young) >= maxRemembered {
		l.young, l.old = map[string]memo{}, l.young
	}
	l.young[key] = memo{strings.Clone(conversation), at}
}

func (l *linker) get(key string) (memo, bool) {
	if m, ok := l.young[key]; ok {
		return m, true
	}
	m, ok := l.old[key]
	if ok {
		l.note(key, m.conversation, m.at)
	}
	return m, ok
}

func answerKey(project, responseID string) string { return "r\x00" + project + "\x00" + responseID }

func itemKey(project, itemID string) string { return "i\x00" + project + "\x00" + itemID }

// pendingOf returns what is needed to settle the conversation of a row; ok is
// false when there is nothing to settle.
func (l *linker) pendingOf(row int, inf *record.Inference, dec *wire.Decoded, s said) (pending, bool) {
	p := pending{row: row, previous: dec.PreviousResponseID, named: dec.References, items: dec.ItemIDs}
	if (inf.Operation == "chat" || inf.Operation == "generate_content") && len(s.input) > 0 {
		p.history = l.digest.historyOf(inf.Project, s.user, s.input, s.output)
	}
	return p, p.previous != "" || p.history.asked != "" || inf.ConversationID != "" && inf.ResponseID != ""
}

// link settles the conversations of a batch's rows, in their order.
func (d *Drainer) link(ctx context.Context, b *record.Batch, rows []pending) error {
	if err := d.lookUp(ctx, b, rows); err != nil {
		d.linker.fails++
		if d.linker.fails < maxLookupFails {
			return fmt.Errorf("look up conversations: %w", err)
		}
		d.quiet.warn("conversations of other proxies are not looked up", err)
	}
	d.linker.fails = 0
	for _, p := range rows {
		inf := &b.Inferences[p.row]
		if inf.ConversationID == "" {
			inf.ConversationID, inf.ConversationSource = d.linker.settle(inf, p)
		}
		if inf.ResponseID != "" && inf.ConversationID != "" {
			d.linker.note(answerKey(inf.Project, inf.ResponseID), inf.ConversationID, inf.Time)
			for _, item := range p.items {
				d.linker.note(itemKey(inf.Project, item), inf.ConversationID, inf.Time)
			}
		}
	}
	return nil
}

// settle finds the conversation of one call, or begins one.
func (l *linker) settle(inf *record.Inference, p pending) (id, source string) {
	if p.previous != "" {
		return l.named(inf, answerKey(inf.Project, p.previous))
	}
	for _, beginning := range p.history.beginnings {
		if m, _ := l.get(beginning); m.conversation != "" {
			return m.conversation, record.ConversationHistory
		}
	}
	if len(p.named) > 0 {
		keys := make([]string, 0, len(p.named))
		for _, item := range p.named {
			keys = append(keys, itemKey(inf.Project, item))
		}
		return l.named(inf, keys...)
	}
	if p.history.own == "" {
		return "", record.ConversationNone
	}
	id = p.history.own
	if inf.UserID != "" {
		// The same user asks the same again: the answer is made anew.
		key := "q\x00" + p.history.asked
		if m, ok := l.get(key); ok && inf.Time.Sub(m.at).Abs() < repeatWindow {
			id = m.conversation
		} else {
			l.note(key, id, inf.Time)
		}
	}
	l.note(p.history.own, id, inf.Time)
	return id, record.ConversationHistory
}

// named finds the conversation of a call by what it names. Calls that name the
// same belong together, also when it is not known.
func (l *linker) named(inf *record.Inference, keys ...string) (id, source string) {
	for _, key := range keys {
		if m, _ := l.get(key); m.conversation != "" {
			id = m.conversation
			break
		}
	}
	if id == "" {
		id = l.digest.historyOf(keys[0], "", nil, nil).asked
	}
	for _, key := range keys {
		l.note(key, id, inf.Time)
	}
	return id, record.ConversationPreviousResponse
}

// lookUp asks the store for what the linker does not know.
func (d *Drainer) lookUp(ctx context.Context, b *record.Batch, rows []pending) error {
	if d.opts.Conversations == nil {
		return nil
	}
	l, now := d.linker, d.opts.Clock()
	wanted := func(key string) bool {
		m, ok := l.get(key)
		return !ok || m.conversation == "" && now.Sub(m.at) > absenceWindow
	}
	ids, answers := map[string]bool{}, map[record.ResponseKey]bool{}
	for _, p := range rows {
		inf := &b.Inferences[p.row]
		switch {
		case inf.ConversationID != "":
		case p.previous != "":
			if wanted(answerKey(inf.Project, p.previous)) {
				answers[record.ResponseKey{Project: inf.Project, ResponseID: p.previous}] = true
			}
		default:
			for _, id := range p.history.beginnings {
				if wanted(id) {
					ids[id] = true
				}
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return d.fetch(ctx, now, keys(ids), keys(answers))
}

func keys[K comparable](set map[K]bool) []K {
	out := make([]K, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	return out
}

// fetch notes what the store knows, and what it does not.
func (d *Drainer) fetch(ctx context.Context, now time.Time, ids []string, answers []record.ResponseKey) error {
	since := now.Add(-historyWindow)
	if len(ids) > 0 {
		known, err := d.opts.Conversations.KnownConversations(ctx, since, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			conversation := ""
			if known[id] {
				conversation = id
			}
			d.linker.note(id, conversation, now)
		}
	}
	if len(answers) == 0 {
		return nil
	}
	found, err := d.opts.Conversations.ConversationsOfResponses(ctx, since, answers)
	if err != nil {
		return err
	}
	for _, a := range answers {
		d.linker.note(answerKey(a.Project, a.ResponseID), found[a], now)
	}
	return nil
}
