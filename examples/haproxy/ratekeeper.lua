-- http-request lua.ratekeeper <address> <port> <open|closed>: asks ratekeeper whether a request may pass.
-- Refusals are answered as ratekeeper answers them; what passes has the figures in variables of txn.
--
-- A plain socket on purpose: core.httpclient() of HAProxy 2.6 tries a refused connection three times, a
-- second apart, so that each request would wait three seconds while ratekeeper is away.

-- Whole seconds. Longer than the longest `max_wait` of a rule that shapes.
local TIMEOUT = 2

-- The longest answer that is read.
local BODY_MAX = 65536

-- What belongs to a connection, and what is said here: the rest of the client's fields is sent along.
local OWN = {
    ["connection"] = true, ["keep-alive"] = true, ["te"] = true, ["trailer"] = true, ["upgrade"] = true,
    ["transfer-encoding"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true,
    ["x-forwarded-for"] = true, ["x-forwarded-method"] = true, ["x-forwarded-uri"] = true,
    ["x-original-method"] = true, ["x-original-uri"] = true, ["x-original-host"] = true,
}

local FIGURES = {
    "ratelimit-policy", "ratelimit", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
}

-- No text of a client begins a line of its own.
local function clean(text)
    return (tostring(text or ""):gsub("%c", ""))
end

local function question(txn, address)
    local lines = {
        "GET /v1/authorize HTTP/1.0",
        "Host: " .. address,
        "X-Forwarded-For: " .. clean(txn.f:src()),
        "X-Original-Method: " .. clean(txn.f:method()),
        "X-Original-URI: " .. clean(txn.f:pathq()),
        "X-Original-Host: " .. clean(txn.sf:req_fhdr("host")),
    }
    for name, values in pairs(txn.http:req_get_headers()) do
        if not OWN[name] then
            for _, value in pairs(values) do
                lines[#lines + 1] = clean(name) .. ": " .. clean(value)
            end
        end
    end
    return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

-- The status, the fields and the body of the answer; nothing if there is none.
local function ask(txn, address, port)
    local socket = core.tcp()
    socket:settimeout(TIMEOUT)
    if not socket:connect(address, tonumber(port)) then return end
    if not socket:send(question(txn, address)) then socket:close() return end
    local line = socket:receive("*l")
    local status = line and tonumber(line:match("^HTTP/%d%.%d (%d+)"))
    local fields = {}
    while status do
        line = socket:receive("*l")
        if not line then status = nil break end
        line = line:gsub("\r$", "")
        if line == "" then break end
        local name, value = line:match("^([^:]+):%s*(.-)%s*$")
        if name then fields[name:lower()] = value end
    end
    local length = math.min(tonumber(fields["content-length"]) or 0, BODY_MAX)
    local body = status and length > 0 and socket:receive(length) or ""
    socket:close()
    return status, fields, body
end

core.register_action("ratekeeper", { "http-req" }, function(txn, address, port, mode)
    local status, fields, body = ask(txn, address, port)
    if status == 200 then
        for _, name in ipairs(FIGURES) do
            if fields[name] then txn:set_var("txn." .. name:gsub("-", "_"), fields[name]) end
        end
        return
    end
    if not status and mode == "open" then return end
    local reply = txn:reply()
    reply:set_status(status or 503)
    for _, name in ipairs(FIGURES) do
        if status and fields[name] then reply:add_header(name, fields[name]) end
    end
    for _, name in ipairs({ "content-type", "cache-control", "retry-after" }) do
        if status and fields[name] then reply:add_header(name, fields[name]) end
    end
    if status then reply:set_body(body) end
    txn:done(reply)
end, 3)
