package good

import "golang.org/x/sync/singleflight"

var flights singleflight.Group

func product(id string) (any, error) {
	v, err, _ := flights.Do(id, func() (any, error) {
		v, err := load(id)
		if err != nil {
			flights.Forget(id) // the next request tries again at once
		}
		return v, err
	})
	return v, err
}

func load(id string) (any, error) { return nil, nil }
