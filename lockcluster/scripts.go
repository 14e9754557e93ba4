package lockcluster

import "github.com/redis/go-redis/v9"

// The five scripts. KEYS[1] is the record (with PlainValues: the companion
// that holds the header), KEYS[2], only with PlainValues, is the plain value.
// Each answers {state, server time in µs, header before or after, ...}. Each may
// run twice with the same token and answers the same: a lost reply that
// go-redis repeats changes nothing.
//
// They use no library beside string, table and math, write after TIME (script
// effects are replicated since Redis 5), and publish through pcall: without
// it a missing pub/sub permission is an error after the write was applied.
const prelude = `
local H, V = KEYS[1], KEYS[2]
local MAGIC, NONE = '\247rc\1', string.rep('\0', 12)
local t = redis.call('TIME')
local us = t[1] * 1000000 + t[2]
local now = math.floor(us / 1000)
local function num(s, i, n)
  local v = 0
  for k = i + 1, i + n do v = v * 256 + string.byte(s, k) end
  return v
end
local function enc(v, n)
  local b = {}
  for k = n, 1, -1 do
    local r = v % 256
    b[k] = string.char(r)
    v = (v - r) / 256
  end
  return table.concat(b)
end
local function put(s, i, x) return string.sub(s, 1, i) .. x .. string.sub(s, i + #x + 1) end
local BLANK = MAGIC .. string.rep('\0', 76)
local h = redis.pcall('GETRANGE', H, 0, 79)
if type(h) == 'table' then
  if string.find(h.err, 'WRONGTYPE', 1, true) then return {'FOREIGN', us, '', h.err} end
  return redis.error_reply(h.err)
end
local rec = #h == 80 and string.sub(h, 1, 4) == MAGIC
local lease, fill, waits, kind = NONE, NONE, false, 0
if rec then
  kind = string.byte(h, 5)
  waits = string.byte(h, 6) % 2 == 1
  fill = string.sub(h, 45, 56)
  lease = string.sub(h, 57, 68)
end
local function atleast(ms)
  local p = redis.call('PTTL', H)
  if p >= 0 and p < ms then redis.call('PEXPIRE', H, ms) end
end
local function publish(channel, key) redis.pcall('PUBLISH', channel, key) end
`

// acquire: token, lease ms (0: only look), fill id known to be bad or ”,
// '1' to be woken, ms to keep the record beyond the lease.
//
// A value that is fresh is not loaded again, unless it is the one the caller
// knows and wants replaced (an early refresh, an undecodable value).
var acquireScript = redis.NewScript(prelude + `
if ARGV[2] == '0' then return {'LOOKED', us, rec and h or ''} end
if rec then
  if lease == ARGV[1] then return {'ACQUIRED', us, h} end
  if kind > 0 and num(h, 8, 6) > now and fill ~= ARGV[3] then return {'FRESH', us, h} end
end
if V and ARGV[3] == '' and redis.call('EXISTS', V) == 1 and not (rec and kind == 1 and num(h, 14, 6) <= now) then
  return {'FRESH', us, rec and h or ''}
end
local till = enc(now + tonumber(ARGV[2]), 6)
local keep = tonumber(ARGV[2]) + tonumber(ARGV[5])
if rec then
  if lease ~= NONE and num(h, 26, 6) > now then
    if ARGV[4] == '1' and not waits then redis.call('SETRANGE', H, 5, '\1') end
    return {'HELD', us, h}
  end
  if num(h, 20, 6) > now then return {'COOLING', us, h} end
  h = put(put(h, 26, till), 56, ARGV[1])
  redis.call('SETRANGE', H, 0, h)
  atleast(keep)
else
  h = put(put(BLANK, 26, till), 56, ARGV[1])
  redis.call('SET', H, h, 'PX', keep)
end
return {'ACQUIRED', us, h}
`)

// fill: fill id, lease token it relies on (” stores in any case), kind, fresh
// ms, stale ms, load time ms, digest, payload, channel, key, ms to keep a
// record without a value.
//
// It relies on the token, not on the lease's end: a lease that nobody took
// over and nobody revoked still proves that no invalidation came between.
var fillScript = redis.NewScript(prelude + `
if rec and fill == ARGV[1] then return {'FILLED', us, h} end
if ARGV[2] ~= '' and not (rec and lease ~= NONE and lease == ARGV[2]) then
  return {'LOST', us, rec and h or '', redis.call('GET', V or H)}
end
local fresh, stale = tonumber(ARGV[4]), tonumber(ARGV[5])
local gen = rec and (num(h, 40, 4) + 1) % 4294967296 or 1
local n = MAGIC .. string.char(tonumber(ARGV[3])) .. '\0\0\0' .. enc(now + fresh, 6) .. enc(now + fresh + stale, 6)
  .. string.rep('\0', 12) .. enc(fresh, 4) .. enc(tonumber(ARGV[6]), 4) .. enc(gen, 4) .. ARGV[1] .. NONE .. ARGV[7] .. '\0\0\0\0'
local life, r = fresh + stale, nil
if ARGV[3] == '0' then life = tonumber(ARGV[11]) end
if V then
  r = redis.pcall('SET', H, n, 'PX', life)
  if not r.err and ARGV[3] == '1' then r = redis.pcall('SET', V, ARGV[8], 'PX', life)
  elseif not r.err then redis.call('DEL', V) end
else
  r = redis.pcall('SET', H, n .. ARGV[8], 'PX', life)
end
if r.err then return {'REFUSED', us, h, r.err} end
if waits or ARGV[2] == '' then publish(ARGV[9], ARGV[10]) end
return {'FILLED', us, n}
`)

// renew: token, lease ms, ms to keep the record beyond the lease.
var renewScript = redis.NewScript(prelude + `
if not rec or lease ~= ARGV[1] then return {'LOST', us, rec and h or ''} end
h = put(h, 26, enc(now + tonumber(ARGV[2]), 6))
redis.call('SETRANGE', H, 26, string.sub(h, 27, 32))
atleast(tonumber(ARGV[2]) + tonumber(ARGV[3]))
return {'RENEWED', us, h}
`)

// release: token, '1' when the load failed, failures before a cool-down (0:
// none), first and longest cool-down in ms, ms to remember failures, channel, key.
var releaseScript = redis.NewScript(prelude + `
if not rec or lease ~= ARGV[1] then return {'RELEASED', us, rec and h or ''} end
local fails, after = num(h, 6, 2), tonumber(ARGV[3])
if ARGV[2] == '1' then
  fails = math.min(fails + 1, 65535)
  h = put(h, 6, enc(fails, 2))
  if after > 0 and fails >= after then
    h = put(h, 20, enc(now + math.min(tonumber(ARGV[4]) * 2 ^ math.min(fails - after, 30), tonumber(ARGV[5])), 6))
  end
end
h = put(put(put(h, 5, '\0'), 26, string.rep('\0', 6)), 56, NONE)
if kind == 0 and fails == 0 and fill == NONE then
  redis.call('DEL', H)
else
  redis.call('SETRANGE', H, 0, h)
  if fails > 0 then atleast(tonumber(ARGV[6])) end
end
if waits then publish(ARGV[7], ARGV[8]) end
return {'RELEASED', us, h}
`)

// invalidate: token, '1' for hard, ms to keep the tombstone, channel, key.
//
// Hard leaves a record without a value whose fill id is the token: a repeated
// call finds it and does not revoke a lease taken meanwhile.
var invalidateScript = redis.NewScript(prelude + `
if ARGV[2] == '1' then
  if rec and fill == ARGV[1] then return {'DONE', us, h} end
  if V then redis.call('DEL', V) end
  local r = redis.pcall('SET', H, put(BLANK, 44, ARGV[1]), 'PX', ARGV[3])
  if r.err then redis.call('DEL', H) end
  publish(ARGV[4], ARGV[5])
  return {'DONE', us, ''}
end
if not rec then return {'DONE', us, ''} end
h = put(put(put(h, 5, '\0'), 26, string.rep('\0', 6)), 56, NONE)
if kind > 0 and num(h, 8, 6) > now then h = put(h, 8, enc(now, 6)) end
redis.call('SETRANGE', H, 0, h)
if waits then publish(ARGV[4], ARGV[5]) end
return {'DONE', us, h}
`)
