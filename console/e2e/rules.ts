// The rules of the tests that need more than the demo's.
export const RULES = `tiers: [free, pro]
rules:
  # Everybody's requests.
  - {id: api, match: {path: "/api/**"}, key: {first: [user, ip]}, limit: {free: 10/minute, pro: 600/minute}}
  - {id: login, match: {methods: [POST], path: /login}, key: ip, limit: 5/minute, algorithm: sliding_window_log}
  - {id: partner, match: {path: "/partner/**"}, key: [user, method], limit: 2/second burst 20}
  - {id: search, match: {path: /search}, key: ip, limit: 1/minute, rollout: shadow}
`;
