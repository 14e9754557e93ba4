package good

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

var seen = map[string]int{}

func product(c *fiber.Ctx) error {
	id := strings.Clone(c.Params("id"))
	seen[id] = 1
	return c.SendString(id)
}
