/** The server's side of one node's connection. */
import { errorMessage } from '../../../base/errors.ts';
import { createLineReader } from '../../../gateway/data-plane/control-messages.ts';
import { MAX_REPORT_BYTES } from '../../../gateway/data-plane/data-plane-report.ts';
import type { PublishedSnapshot } from '../../../gateway/gateway-controller.ts';
import type { DataPlaneReport } from '../../../gateway/snapshot/snapshot.ts';
import type { CancelTimer } from '../../../platform/clock.ts';
import type { BasePlatform } from '../../../platform/platform.ts';
import type { Duplex } from '../../../platform/streams.ts';
import { LatestSender } from '../latest-sender.ts';
import { HEARTBEAT_MS, readReportLine, snapshotLine } from './protocol.ts';

export class FedNode {
  readonly #platform: Pick<BasePlatform, 'clock' | 'log'>;
  readonly #name: string;
  readonly #socket: Duplex;
  readonly #sender: LatestSender<PublishedSnapshot | undefined>;
  #offered: PublishedSnapshot | undefined;
  #sent: PublishedSnapshot | undefined;
  #heartbeat: CancelTimer | undefined;

  constructor(platform: Pick<BasePlatform, 'clock' | 'log'>, name: string, socket: Duplex) {
    this.#platform = platform;
    this.#name = name;
    this.#socket = socket;
    this.#sender = new LatestSender(
      (snapshot) => this.#send(snapshot),
      () => socket.destroy(), // the node connects again
    );
    this.#awaitHeartbeat();
  }

  /** Sends the snapshot, unless the node already has it. */
  offer(snapshot: PublishedSnapshot): void {
    if (snapshot === this.#offered) return;
    this.#offered = snapshot;
    this.#sender.offer(snapshot);
  }

  /**
   * Passes reports to `take` until the connection ends. Reports before the first snapshot concern earlier ports and are dropped.
   * Never rejects.
   */
  async read(take: (report: DataPlaneReport | undefined) => void): Promise<void> {
    const decoder = new TextDecoder();
    const read = createLineReader((line) => {
      if (this.#sent !== undefined) take(readReportLine(line, this.#sent.ports));
    }, MAX_REPORT_BYTES);
    try {
      for await (const chunk of this.#socket.incoming) read(decoder.decode(chunk, { stream: true }));
    } catch (error) {
      this.#platform.log.debug('a node stopped following routes', { node: this.#name, reason: errorMessage(error) });
    } finally {
      this.end();
    }
  }

  end(): void {
    this.#heartbeat?.();
    this.#socket.destroy();
  }

  async #send(snapshot: PublishedSnapshot | undefined): Promise<void> {
    if (snapshot === undefined) return this.#socket.write('\n');
    this.#sent = snapshot;
    for (const piece of snapshotLine(snapshot)) await this.#socket.write(piece);
  }

  #awaitHeartbeat(): void {
    this.#heartbeat = this.#platform.clock.setTimer(HEARTBEAT_MS, () => {
      // TCP closes a connection over which nothing can be sent.
      if (!this.#sender.isSending) this.#sender.offer(undefined);
      this.#awaitHeartbeat();
    });
  }
}
