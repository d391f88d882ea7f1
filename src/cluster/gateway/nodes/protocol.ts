/**
 * The protocol between a server and a joined node: the server sends a line per snapshot and, between them, empty lines as
 * heartbeats; the node sends its data plane's reports, `null` when none runs.
 */
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import { readReport } from '../../../gateway/data-plane/data-plane-report.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';

/** The value of the `upgrade` header. It changes with the form of snapshots. */
export const NODE_ROUTES_PROTOCOL = 'keelson-routes.v1';
/** The maximum time between two lines of the server. */
export const HEARTBEAT_MS = 15_000;
/** A node that has received nothing for this long reconnects. */
export const SILENCE_MS = 3 * HEARTBEAT_MS;

/** The snapshot for a node that serves no routes. */
export const NO_ROUTES: PublishedSnapshot = {
  pieces: ['{"listeners":[],"rules":[],"matches":[],"hosts":[],"certificates":[],"passthrough":[],"backends":[]}'],
  ports: new Set(),
};

/** The line in pieces, so that a large snapshot is not copied. */
export function snapshotLine({ pieces, ports }: PublishedSnapshot): readonly string[] {
  return [`${JSON.stringify([...ports])} `, ...pieces, '\n'];
}

/** Throws for a line that is no snapshot. */
export function readSnapshotLine(line: string): PublishedSnapshot {
  const end = line.indexOf(' ');
  const ports: unknown = JSON.parse(line.slice(0, Math.max(end, 0)));
  if (!Array.isArray(ports) || !ports.every((port) => Number.isSafeInteger(port)))
    throw new Error('the server sent what is no snapshot of routes');
  return { pieces: [line.slice(end + 1)], ports: new Set(ports as number[]) };
}

export function reportLine(report: DataPlaneReport | undefined): string {
  return `${JSON.stringify(report ?? null)}\n`;
}

/** Throws for a line that is no report of these ports. */
export function readReportLine(line: string, ports: ReadonlySet<number>): DataPlaneReport | undefined {
  return line === 'null' ? undefined : readReport(line, ports);
}
