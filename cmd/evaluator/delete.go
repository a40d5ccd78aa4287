package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"

	"docket/internal/record"
)

// deleteSubject deletes everything that is stored of a user or a conversation.
func deleteSubject(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	flags, config := newFlags("delete", stdout)
	dsn := storeFlag(flags)
	var sub record.Subject
	flags.StringVar(&sub.User, "user", "", "delete the calls of this user, and calls without a user in conversations that are only his")
	flags.StringVar(&sub.Conversation, "conversation", "", "delete this conversation")
	flags.StringVar(&sub.Project, "project", "", "only in this project")
	by := flags.String("by", "", "who deletes, for the note that is kept (the user of this machine)")
	dry := flags.Bool("dry-run", false, "only count what would be deleted")
	if err := parse(flags, args); err != nil {
		return err
	}
	if (sub.User == "") == (sub.Conversation == "") {
		return errors.New("want one of --user and --conversation")
	}
	_, db, err := loadAndOpen(ctx, *config, *dsn, getenv, stdout)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if *dry {
		d, err := db.SubjectRows(ctx, sub)
		if err != nil {
			return err
		}
		printDeletion(stdout, "would delete", d)
		return nil
	}
	d, err := db.Delete(ctx, sub, cmp.Or(*by, machineUser()))
	if err == nil || len(d.Rows) > 0 {
		printDeletion(stdout, "deleted", d)
	}
	if err == nil && len(d.Rows) > 0 {
		fmt.Fprintf(stdout, "noted as deletion %s, without the name\n", d.ID)
		fmt.Fprintln(stdout, "not reached: calls on their way in the spool of a proxy (delete again when they have arrived), rows in its quarantine, exports and backups, and what was sent over OTLP")
	}
	return err
}

func printDeletion(w io.Writer, what string, d record.Deletion) {
	if len(d.Rows) == 0 {
		fmt.Fprintf(w, "nothing is stored of this %s\n", d.Kind)
	}
	for _, table := range sortedNames(d.Rows) {
		fmt.Fprintf(w, "%s %d rows of %s\n", what, d.Rows[table], table)
	}
	if d.Shared > 0 {
		fmt.Fprintf(w, "%d calls of other users, or of none, in the same conversations stay, and may repeat what this user said; --conversation deletes a whole one\n", d.Shared)
	}
}

func machineUser() string {
	u, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return u.Username
}
