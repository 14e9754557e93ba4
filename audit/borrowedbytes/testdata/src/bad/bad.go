package bad

import "github.com/gofiber/fiber/v2"

var seen = map[string]int{}

func product(c *fiber.Ctx) error {
	id := c.Params("id")
	seen[id] = 1 // want `kept as the key of a map`
	return c.SendString(id)
}
