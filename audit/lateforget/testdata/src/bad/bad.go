package bad

import "golang.org/x/sync/singleflight"

var flights singleflight.Group

func product(id string) (any, error) {
	v, err, _ := flights.Do(id, func() (any, error) { return load(id) })
	if err != nil {
		flights.Forget(id) // want `Forget after the result arrived`
		return nil, err
	}
	return v, nil
}

func load(id string) (any, error) { return nil, nil }
