// Package config reads settings strictly: one YAML file, then the environment.
//
// A program passes pointers to its sections, already filled with their
// defaults. The file is laid over them, then the environment; flags come last
// and are the program's own. Sections that another program uses are accepted
// unread, every other name is an error.
//
// Errors name the file and line (or the variable), the key, and what is
// allowed. All of them are reported at once. Values of secrets are never
// printed.
//
// # Rules of the file
//
//   - Keys are those of the yaml tags. An unknown or repeated key is an error.
//   - A map adds to the entries of its default; an entry that is null is removed.
//     A list replaces its default.
//   - New entries of maps and lists start from SetDefaults, if their type has it.
//   - A key without a value keeps its default.
//   - Durations are "250ms", "5s", "24h" or whole days as "30d".
//   - A string or a secret may be {env: NAME} or {file: PATH}; the path is
//     relative to the settings file, and one trailing line break is removed.
//   - YAML anchors and aliases work, merge keys do not.
//
// # Rules of the environment
//
// The key a.b of section s is DOCKET_S_A_B. It sets scalars, and lists of
// strings with commas between. Empty variables count as unset. DOCKET_<...>
// variables that mean nothing are errors, except those that the file names as
// {env: NAME}, and those that Kubernetes adds for a service whose name begins
// with "docket".
//
// yaml's own decoder was not used for the sections: its strict mode names Go
// types instead of keys, and cannot say what is allowed.
package config
