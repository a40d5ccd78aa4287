package main

import (
	"strings"
	"testing"

	"docket/internal/record"
	"docket/internal/store/storetest"
)

func TestDeleteVerb(t *testing.T) {
	dsn := storetest.DSN(t)
	for _, name := range []string{"ann", "bob", "ann"} {
		capturedAs(t, dsn, "Sorry!", func(inf *record.Inference) { inf.UserID, inf.ConversationID = name, "c-"+name })
	}
	delete := func(args ...string) string {
		t.Helper()
		var out output
		if err := run(t.Context(), append([]string{"delete"}, args...), env("DOCKET_STORE", dsn), &out); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out.String()
	}
	if got := delete("--user", "ann", "--dry-run"); !strings.Contains(got, "would delete 2 rows of inferences\n") {
		t.Errorf("dry run: %s", got)
	}
	if got := delete("--user", "ann", "--by", "dpo"); !strings.Contains(got, "deleted 2 rows of inference_bodies\n") || !strings.Contains(got, "not reached: calls on their way") {
		t.Errorf("delete: %s", got)
	}
	if got := delete("--user", "ann"); got != "nothing is stored of this user\n" {
		t.Errorf("again: %s", got)
	}
	if got := storetest.Exec(t, dsn, "SELECT user_id FROM inferences FORMAT TSVRaw"); got != "bob\n" {
		t.Errorf("left: %q", got)
	}
	if got := delete("--conversation", "c-bob"); !strings.Contains(got, "deleted 1 rows of inferences\n") {
		t.Errorf("conversation: %s", got)
	}
	if got := storetest.Exec(t, dsn, "SELECT kind, deleted_by != '' FROM deletions ORDER BY ts FORMAT TSVRaw"); got != "user\t1\nconversation\t1\n" {
		t.Errorf("notes: %q", got)
	}
	for _, args := range [][]string{{"delete"}, {"delete", "--user", "a", "--conversation", "c"}} {
		if err := run(t.Context(), args, env("DOCKET_STORE", dsn), &output{}); err == nil || !strings.Contains(err.Error(), "want one of --user and --conversation") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// A deletion that fails does not say that there is nothing.
func TestDeleteThatFails(t *testing.T) {
	var out output
	settings := env("DOCKET_STORE", storetest.DSN(t), "DOCKET_STORE_AUTO_MIGRATE", "false") // no tables
	err := run(t.Context(), []string{"delete", "--user", "ann"}, settings, &out)
	if err == nil || strings.Contains(out.String(), "nothing is stored") {
		t.Errorf("%v: %s", err, out.String())
	}
}
