/** Formats probes for people. */
import type { Probe } from '../../api/gen/core-v1.ts';

/** `GET http://:8080/ready`, `tcp :80`, `grpc :9000`, `exec cat /tmp/ready`. */
export function probeText({ httpGet, tcpSocket, grpc, exec }: Probe): string {
  if (httpGet !== undefined) {
    const { scheme = 'HTTP', host = '', port, path = '/' } = httpGet;
    return `GET ${scheme.toLowerCase()}://${host}:${port}${path}`;
  }
  if (tcpSocket !== undefined) return `tcp ${tcpSocket.host ?? ''}:${tcpSocket.port}`;
  if (grpc !== undefined) return `grpc :${grpc.port}`;
  return `exec ${(exec?.command ?? []).join(' ')}`;
}
