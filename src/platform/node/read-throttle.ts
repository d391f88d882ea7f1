/**
 * Spreads the reading of many connections over turns of the event loop. Node.js reads all readable sockets in one
 * phase, and creates requests from everything it reads before anybody can yield: hundreds of pipelined or HTTP/2
 * connections block the loop for seconds. Once a phase has lasted too long, connections are no longer read; a few
 * continue in each later turn, the clients' flows taking turns, those of the cluster first. Unread data stays in the
 * kernel.
 *
 * Works on the sockets' handles, which have no public API: http and http2 read past a socket's streams. `reading` is
 * Node's own field; a handle that it has stopped is not touched. Node.js calls the socket's timer at each read except
 * HTTP/2's: 16 KB may hold thousands of chunks or TLS records, each of which costs microseconds.
 */
import { PausedConnections, type FlowMember } from './paused-connections.ts';
import { type LoopDeps, loopTurns } from './loop-turns.ts';
import { NextTurn } from './next-turn.ts';

/** A phase that has read for this long reads no further connections. */
const PHASE_MS = 4;
/** The first reads of a phase do not read the clock. */
const FEW_READS = 4;
const AT_ONCE = { silent: 256, busy: 16 };
/** While more requests of a flow wait, its connections are not read. */
const WAITING_OF_FLOW = 100;
/**
 * The time after the last phase until a new one counts as another flood, when it is unknown which connections are
 * busy.
 */
const FORGET_MS = 1000;

interface Handle {
  readonly reading?: boolean;
  readonly bytesRead: number;
  /** The bytes still to be written. */
  readonly writeQueueSize?: number;
  readStop(): unknown;
  readStart(): unknown;
}

/** A socket of Node.js whose reading is controlled. */
export interface ThrottledSocket {
  /** Called by Node.js at each read and write. */
  _unrefTimer?(): void;
  readonly alpnProtocol?: string | false | null;
  once(event: 'close', listener: () => void): unknown;
}

interface Connection extends FlowMember {
  readonly socket: ThrottledSocket;
  /** Its bytes read up to the turn in which it last continued, and the number of the flood then. */
  bytesRead: number;
  flood: number;
  /** Its bytes read when Node.js last called its timer. */
  reportedBytes: number;
}

function handleOf({ socket }: Connection): Handle | undefined {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  return handle?.reading === true ? handle : undefined;
}

/** While an HTTP/2 session writes, node:http2 itself stops and restarts reading. */
function isStoppedByItself(socket: ThrottledSocket, { writeQueueSize = 0 }: Handle): boolean {
  return socket.alpnProtocol === 'h2' && writeQueueSize > 0;
}

/** Whether its timer was called for a read, not for a write. */
function wasRead(connection: Connection): boolean {
  const { _handle: handle } = connection.socket as { readonly _handle?: Handle | null };
  const { bytesRead = 0 } = handle ?? {};
  if (bytesRead === connection.reportedBytes) return false;
  connection.reportedBytes = bytesRead;
  return true;
}

export interface ReadThrottleDeps extends Pick<LoopDeps, 'nowMs' | 'nextTurn'> {
  /** How many requests of the flow wait for their turn. */
  readonly waitingOf: (flow: string | undefined) => number;
}

export class ReadThrottle {
  readonly #deps: ReadThrottleDeps;
  readonly #bySocket = new Map<ThrottledSocket, Connection>();
  readonly #flowing = new Set<Connection>();
  /** `silent` are those of which nothing is known to have been read since they last continued. */
  readonly #paused = new PausedConnections<Connection>();
  /** Connections that were read in the phase that was ended: the others continue for one turn without them. */
  readonly #resting = new Set<Connection>();
  /** When the first of this phase had to wait. */
  #phaseMs: number | undefined;
  #isPaused = false;
  /** The number of the flood, a sequence of ended phases with short gaps. */
  #flood = 0;
  #pausedMs = -Infinity;
  /** Reads since the last turn. */
  #reads = 0;
  readonly #nextTurn: NextTurn;

  constructor(deps: ReadThrottleDeps) {
    this.#deps = deps;
    this.#nextTurn = new NextTurn(deps.nextTurn, () => this.#runTurn());
  }

  /** Connections that are not read now. */
  get paused(): number {
    return this.#paused.size + this.#resting.size;
  }

  /** Adds a connection until it closes or is removed; reading continues. Adding it again has no effect. */
  add(socket: ThrottledSocket, flow: string | undefined): void {
    if (this.#bySocket.has(socket)) return;
    const connection = { socket, flow, bytesRead: 0, flood: 0, reportedBytes: 0 };
    this.#bySocket.set(socket, connection);
    this.#flowing.add(connection);
    socket.once('close', () => this.remove(socket));
    const refreshTimer = socket._unrefTimer;
    if (refreshTimer === undefined) return;
    socket._unrefTimer = () => {
      if (++this.#reads > FEW_READS && wasRead(connection)) this.reportWaiting();
      refreshTimer.call(socket);
    };
  }

  /** Removes a connection, which other code reads from then on. */
  remove(socket: ThrottledSocket): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    this.#bySocket.delete(socket);
    for (const place of [this.#flowing, this.#resting, this.#paused]) place.delete(connection);
  }

  /** Call when something that was read has to wait. A single read may cause thousands of calls. */
  reportWaiting(): void {
    if (this.#isPaused) return;
    const nowMs = this.#deps.nowMs();
    if (this.#phaseMs === undefined) {
      this.#phaseMs = nowMs;
      this.#nextTurn.schedule();
    } else if (nowMs - this.#phaseMs >= PHASE_MS) this.#pause(nowMs);
  }

  /**
   * Pauses connections that were read: the kernel reports them before the others, and one of them may end each phase.
   */
  #pause(nowMs: number): void {
    if (nowMs - this.#pausedMs > FORGET_MS) {
      this.#flood++;
      this.#paused.forgetPenalties();
    }
    this.#pausedMs = nowMs;
    this.#isPaused = true;
    for (const connection of this.#flowing) {
      const handle = handleOf(connection);
      if (handle === undefined || isStoppedByItself(connection.socket, handle)) continue;
      handle.readStop();
      this.#flowing.delete(connection);
      const isBusy = connection.flood === this.#flood && handle.bytesRead !== connection.bytesRead;
      if (isBusy) this.#resting.add(connection);
      else this.#paused.add(connection, 'silent');
    }
    this.#paused.penalize(new Set([...this.#resting].map(({ flow }) => flow)));
  }

  #runTurn(): void {
    this.#isPaused = false;
    this.#phaseMs = undefined;
    this.#reads = 0;
    const isOpen = (flow: string | undefined): boolean => this.#deps.waitingOf(flow) < WAITING_OF_FLOW;
    for (const connection of this.#paused.take(AT_ONCE, isOpen)) this.#goOn(connection);
    for (const connection of this.#resting) this.#paused.add(connection, 'busy');
    this.#resting.clear();
    if (this.paused > 0) this.#nextTurn.schedule();
  }

  #goOn(connection: Connection): void {
    this.#flowing.add(connection);
    const handle = handleOf(connection);
    if (handle === undefined || isStoppedByItself(connection.socket, handle)) return;
    connection.bytesRead = handle.bytesRead;
    connection.flood = this.#flood;
    handle.readStart();
  }
}

/** The throttle of this thread, which has one event loop. */
export const readThrottle = new ReadThrottle({
  nowMs: () => performance.now(),
  nextTurn: (callback) => {
    setImmediate(callback);
  },
  waitingOf: (flow) => loopTurns.waitingOf(flow),
});
