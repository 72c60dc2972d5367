-- A record of what is held, by name: kept as it came, for its time from the turn on.
charge.r = function(_, arg)
  return true, string.sub(arg, 10), now + turn + struct.unpack('<I8', arg, 2), false
end
