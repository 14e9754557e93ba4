package hashtag_test

import (
	"fmt"

	"github.com/rcctl/rcctl/hashtag"
)

func ExampleSlot() {
	fmt.Println(hashtag.Slot("{user:1000}:profile"), hashtag.Slot("user:1000"))
	// Output: 1649 1649
}

func ExampleKey() {
	key, err := hashtag.Key("user:1000", "profile")
	fmt.Println(key, err)
	_, err = hashtag.Key("user:{1000}", "profile")
	fmt.Println(err)
	// Output:
	// {user:1000}:profile <nil>
	// hashtag: tag "user:{1000}" contains a brace, which would change the slot: escape it or use another id
}

func ExampleCompanion() {
	fmt.Println(hashtag.Companion("user:1000", "lock"))
	// Output: {bQs}lock:user:1000
}
