//! The proxies, each with one worker, and how each is told what to do.
//!
//! Invariant: limits are so high that nothing is refused; connections on either side are kept for good, and
//! nothing is logged.

use super::process::{Place, Running};
use crate::http::find;
use std::net::SocketAddr;
use std::path::PathBuf;

/// nginx; with `limit_req` by address if it is to limit.
pub fn nginx(upstream: SocketAddr, limits: bool) -> Option<Running> {
    let program = find("nginx").or_else(|| Some(PathBuf::from("/usr/sbin/nginx")))?;
    let place = Place::new()?;
    let (folder, address) = (place.folder(), place.address);
    let zone = "limit_req_zone $binary_remote_addr zone=api:10m rate=1000000r/s;";
    let [zone, limit] =
        if limits { [zone, "limit_req zone=api burst=100000 nodelay;"] } else { ["", ""] };
    let kept = 1_000_000_000;
    let text = format!(
        "worker_processes 1;
daemon off;
pid {folder}/pid;
error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  keepalive_requests {kept};
  {zone}
  upstream api {{ server {upstream}; keepalive 64; keepalive_requests {kept}; }}
  server {{
    listen {address};
    location / {{
      {limit}
      proxy_pass http://api;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_buffering on;
    }}
  }}
}}
"
    );
    let file = place.file("nginx.conf", &text)?;
    place.start(&program, &["-p", &folder, "-e", "stderr", "-c", &file], "")
}

pub fn hyper(upstream: SocketAddr) -> Option<Running> {
    let place = Place::new()?;
    let args = ["proxy-on", &place.address.to_string(), &upstream.to_string()];
    place.start(&std::env::current_exe().ok()?, &args, "")
}

/// Ratekeeper, with these rules; its API is on a port of its own.
pub fn ratekeeper(upstream: SocketAddr, rules: &str) -> Option<Running> {
    let program = find("ratekeeper")?;
    let place = Place::new()?;
    let address = place.address;
    let text = format!(
        "gateway:
  listen: {address}
  access_log: none
  routes:
    - path: '/**'
      upstream: 'http://{upstream}'
rules: {rules}
"
    );
    let file = place.file("rules.yaml", &text)?;
    let args = ["serve", "--config", &file, "--log-level", "off", "--listen", "127.0.0.1:0"];
    place.start(&program, &args, "gateway  ")
}
