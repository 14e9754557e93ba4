// Package hashtag has the shapes of rcctl's hashtag.
package hashtag

func Key(tag string, parts ...string) string { return tag }
