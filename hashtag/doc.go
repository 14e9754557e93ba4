// Package hashtag computes cluster slots and hash tags.
package hashtag
