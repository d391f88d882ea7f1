/**
 * Spreads over turns of the event loop what many connections send at once. Node.js serves all sockets that are readable in one
 * phase, and makes requests of all it reads before anybody can ask for a turn: hundreds of pipelines or of HTTP/2 connections
 * are a phase of seconds. Once a phase has lasted too long, connections are no longer read; a few go on in each later turn,
 * the clients' lanes one after the other, those of the cluster first. What is not read waits in the kernel.
 *
 * Works on the sockets' handles, which have no public way: http and http2 read past the streams of a socket. `reading` is what
 * Node.js itself keeps there; a handle that it has stopped is left alone. Of each read but those of HTTP/2 Node.js tells the
 * timer of the socket: 16 KB may hold thousands of chunks or of TLS records, each of which costs microseconds.
 */
import { type LoopDeps, loopTurns } from './loop-turns.ts';

/** A phase that has read for so long reads no more connections. */
const PHASE_MS = 4;
/** So many reads of a phase are not timed. */
const FEW_READS = 4;
/** So many connections are read again in one turn. */
const RELEASED_AT_ONCE = 16;
/** While more of a lane's requests wait for their turn, its connections are not read. */
const WAITING_OF_LANE = 100;

interface Handle {
  readonly reading?: boolean;
  readonly bytesRead: number;
  readStop(): unknown;
  readStart(): unknown;
}

/** What is read: a socket of Node.js. */
export interface BrakedSocket {
  /** Called by Node.js at each read and write. */
  _unrefTimer?(): void;
  once(event: 'close', listener: () => void): unknown;
}

interface Connection {
  readonly socket: BrakedSocket;
  readonly lane: string | undefined;
  /** What had been read of it when it was last let go on. */
  bytesRead: number;
}

function handleOf({ socket }: Connection): Handle | undefined {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  return handle?.reading === true ? handle : undefined;
}

/** What a brake works with. */
export interface ReadBrakeDeps extends Pick<LoopDeps, 'nowMs' | 'nextTurn'> {
  /** How many requests of the lane wait for their turn. */
  readonly waitingOf: (lane: string | undefined) => number;
}

export class ReadBrake {
  readonly #deps: ReadBrakeDeps;
  readonly #bySocket = new Map<BrakedSocket, Connection>();
  readonly #flowing = new Set<Connection>();
  /** Those that are not read, by lane; the lane whose turn is next comes first. */
  readonly #held = new Map<string | undefined, Set<Connection>>();
  /** Those that were read in the phase that was ended: the others go on for one turn without them. */
  readonly #resting = new Set<Connection>();
  /** When the first of this phase had to wait. */
  #phaseMs: number | undefined;
  /** Reads since the last turn. */
  #reads = 0;
  #isScheduled = false;

  constructor(deps: ReadBrakeDeps) {
    this.#deps = deps;
  }

  /** Connections that are not read now. */
  get held(): number {
    let count = this.#resting.size;
    for (const lane of this.#held.values()) count += lane.size;
    return count;
  }

  /** A connection that is read from now on, until it closes or is taken out. Adding it again does nothing. */
  add(socket: BrakedSocket, lane: string | undefined): void {
    if (this.#bySocket.has(socket)) return;
    const connection = { socket, lane, bytesRead: 0 };
    this.#bySocket.set(socket, connection);
    this.#flowing.add(connection);
    socket.once('close', () => this.remove(socket));
    const tellTimer = socket._unrefTimer;
    if (tellTimer === undefined) return;
    socket._unrefTimer = () => {
      if (++this.#reads > FEW_READS) this.press();
      tellTimer.call(socket);
    };
  }

  /** Another takes over reading the connection, which is read now. */
  remove(socket: BrakedSocket): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    this.#bySocket.delete(socket);
    this.#flowing.delete(connection);
    this.#resting.delete(connection);
    const lane = this.#held.get(connection.lane);
    if (lane?.delete(connection) === true && lane.size === 0) this.#held.delete(connection.lane);
  }

  /** Something that was read has to wait for its turn. */
  press(): void {
    const nowMs = this.#deps.nowMs();
    if (this.#phaseMs === undefined) {
      this.#phaseMs = nowMs;
      this.#schedule();
    } else if (nowMs - this.#phaseMs >= PHASE_MS) this.#hold();
  }

  /**
   * Connections of which nothing was read since they went on keep their place at the head, and so do their lanes. Those that
   * were read rest: the kernel tells of them before the others, and one of them may end each phase.
   */
  #hold(): void {
    const unread: Connection[] = [];
    for (const connection of this.#flowing) {
      const handle = handleOf(connection);
      if (handle === undefined) continue;
      handle.readStop();
      this.#flowing.delete(connection);
      if (handle.bytesRead === connection.bytesRead) unread.push(connection);
      else this.#resting.add(connection);
    }
    const before = [...this.#held.values()];
    this.#held.clear();
    for (const connections of [unread, ...before]) for (const connection of connections) this.#enqueue(connection);
  }

  #enqueue(connection: Connection): void {
    const lane = this.#held.get(connection.lane);
    if (lane === undefined) this.#held.set(connection.lane, new Set([connection]));
    else lane.add(connection);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#phaseMs = undefined;
    this.#reads = 0;
    this.#release();
    for (const connection of this.#resting) this.#enqueue(connection);
    this.#resting.clear();
    if (this.#held.size > 0) this.#schedule();
  };

  #release(): void {
    let left = RELEASED_AT_ONCE;
    while (left > 0) {
      const before = left;
      for (const lane of this.#lanesInOrder()) {
        if (left === 0) return;
        if (this.#deps.waitingOf(lane) >= WAITING_OF_LANE) continue;
        this.#releaseOne(lane);
        left--;
      }
      if (left === before) return;
    }
  }

  /** The cluster's own first. */
  #lanesInOrder(): (string | undefined)[] {
    const lanes = [...this.#held.keys()];
    return this.#held.has(undefined) ? [undefined, ...lanes.filter((lane) => lane !== undefined)] : lanes;
  }

  #releaseOne(lane: string | undefined): void {
    const connections = this.#held.get(lane);
    if (connections === undefined) return;
    const [connection] = connections;
    this.#held.delete(lane);
    if (connection === undefined) return;
    connections.delete(connection);
    if (connections.size > 0) this.#held.set(lane, connections);
    this.#flowing.add(connection);
    const handle = handleOf(connection);
    if (handle === undefined) return;
    connection.bytesRead = handle.bytesRead;
    handle.readStart();
  }
}

/** That of this thread: it has one loop. */
export const readBrake = new ReadBrake({
  nowMs: () => performance.now(),
  nextTurn: (callback) => {
    setImmediate(callback);
  },
  waitingOf: (lane) => loopTurns.waitingOf(lane),
});
