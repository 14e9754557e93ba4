package doctor

// versionsKnown is the day on which the data in this file were looked up.
// They age: messages say the day.
const versionsKnown = "2026-11-29"

// endOfLife is the last day of fixes of versions that are out of support, as
// far as their vendors said one.
var endOfLife = map[string]string{
	"redis 5.0": "2022-04-27",
	"redis 6.0": "2022-04-27",
}

// retractedGoRedis are versions of go-redis v9 that their authors took back.
var retractedGoRedis = map[string]bool{
	"v9.5.3": true, "v9.5.4": true, "v9.7.2": true, "v9.15.0": true, "v9.15.1": true,
}
