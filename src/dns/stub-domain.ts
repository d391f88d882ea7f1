/** Stub domains as users write them: `corp.example=10.0.0.53,10.0.1.53:5353`. Upstream: kube-dns' stubDomains. */
import { parseIp } from '../base/cidr.ts';
import type { SocketAddress } from '../platform/datagrams.ts';
import type { StubDomain } from './forwarder.ts';

const DNS_PORT = 53;

/** @throws Error that names what is wrong */
export function parseStubDomain(text: string): StubDomain {
  const [domain = '', list = '', ...more] = text
    .toLowerCase()
    .replace(/\.(?==)/, '')
    .split('=');
  if (!/^[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?$/.test(domain) || list === '' || more.length > 0)
    throw new Error(`${text} is not of the form domain=address[:port],…`);
  return { domain, servers: list.split(',').map((server) => serverOf(server, text)) };
}

/** `10.0.0.1`, `10.0.0.1:5353`, `fd00::1`, `[fd00::1]:5353`. */
function serverOf(server: string, text: string): SocketAddress {
  const [, bracketed, plain, portText] = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+))(?::(\d+))?$/.exec(server) ?? [];
  const address = bracketed ?? plain ?? server;
  const port = portText === undefined ? DNS_PORT : Number(portText);
  if (parseIp(address) === undefined || port < 1 || port > 65_535)
    throw new Error(`${text}: ${server} is no address of a name server`);
  return { address, port };
}
