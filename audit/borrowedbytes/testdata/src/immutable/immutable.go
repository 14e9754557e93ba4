package immutable

import "github.com/gofiber/fiber/v2"

var app = fiber.New(fiber.Config{Immutable: true})

var last string

func okImmutable(c *fiber.Ctx) error {
	last = c.Params("id")
	return nil
}
