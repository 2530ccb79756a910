// Loaded into a server (node --require) where the tests have no network
// namespace: whatever address it means to listen on, it listens on loopback, and
// no name but that of this machine leads anywhere.

const dns = require("node:dns");
const net = require("node:net");

const lookup = dns.lookup;
dns.lookup = function (name, ...args) {
  return lookup.call(this, name === "localhost" || net.isIP(name) ? name : "nowhere.invalid", ...args);
};

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  if (args[0] !== null && typeof args[0] === "object") {
    args[0] = { ...args[0], host: "127.0.0.1" };
  } else if (typeof args[1] === "string") {
    args[1] = "127.0.0.1";
  } else {
    args.splice(1, 0, "127.0.0.1");
  }
  return listen.apply(this, args);
};
