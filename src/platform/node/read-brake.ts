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
import { HeldLanes, type InLane } from './held-lanes.ts';
import { type LoopDeps, loopTurns } from './loop-turns.ts';

/** A phase that has read for so long reads no more connections. */
const PHASE_MS = 4;
/** The first reads of a phase do not read the clock. */
const FEW_READS = 4;
const AT_ONCE = { silent: 256, busy: 16 };
/** While more of a lane's requests wait for their turn, its connections are not read. */
const WAITING_OF_LANE = 100;
/** Time after the last phase until a new phase counts as another flood: which connections are busy is unknown then. */
const FORGET_MS = 1000;

interface Handle {
  readonly reading?: boolean;
  readonly bytesRead: number;
  /** What is still to be written. */
  readonly writeQueueSize?: number;
  readStop(): unknown;
  readStart(): unknown;
}

/** What is read: a socket of Node.js. */
export interface BrakedSocket {
  /** Called by Node.js at each read and write. */
  _unrefTimer?(): void;
  readonly alpnProtocol?: string | false | null;
  once(event: 'close', listener: () => void): unknown;
}

interface Connection extends InLane {
  readonly socket: BrakedSocket;
  /** Bytes read of it up to the turn in which it last went on, and the number of the flood then. */
  bytesRead: number;
  flood: number;
  /** Bytes read of it when Node.js last told its timer. */
  reportedBytes: number;
}

function handleOf({ socket }: Connection): Handle | undefined {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  return handle?.reading === true ? handle : undefined;
}

/** While a session of HTTP/2 writes, node:http2 itself stops what it reads and starts it again after. */
function isStoppedByItself(socket: BrakedSocket, { writeQueueSize = 0 }: Handle): boolean {
  return socket.alpnProtocol === 'h2' && writeQueueSize > 0;
}

/** Whether its timer is told of a read, not of a write. */
function wasRead(connection: Connection): boolean {
  const { _handle: handle } = connection.socket as { readonly _handle?: Handle | null };
  const { bytesRead = 0 } = handle ?? {};
  if (bytesRead === connection.reportedBytes) return false;
  connection.reportedBytes = bytesRead;
  return true;
}

export interface ReadBrakeDeps extends Pick<LoopDeps, 'nowMs' | 'nextTurn'> {
  /** How many requests of the lane wait for their turn. */
  readonly waitingOf: (lane: string | undefined) => number;
}

export class ReadBrake {
  readonly #deps: ReadBrakeDeps;
  readonly #bySocket = new Map<BrakedSocket, Connection>();
  readonly #flowing = new Set<Connection>();
  /** Silent are those of which nothing was read since they last went on, as far as that is known. */
  readonly #held = new HeldLanes<Connection>();
  /** Those that were read since they last went on, in the phase that was ended: the others go on for one turn without them. */
  readonly #resting = new Set<Connection>();
  /** When the first of this phase had to wait. */
  #phaseMs: number | undefined;
  #isHeld = false;
  /** A number for each flood: phases that were ended soon one after the other. */
  #flood = 0;
  #heldMs = -Infinity;
  /** Reads since the last turn. */
  #reads = 0;
  #isScheduled = false;

  constructor(deps: ReadBrakeDeps) {
    this.#deps = deps;
  }

  /** Connections that are not read now. */
  get held(): number {
    return this.#held.size + this.#resting.size;
  }

  /** A connection that is read from now on, until it closes or is taken out. Adding it again does nothing. */
  add(socket: BrakedSocket, lane: string | undefined): void {
    if (this.#bySocket.has(socket)) return;
    const connection = { socket, lane, bytesRead: 0, flood: 0, reportedBytes: 0 };
    this.#bySocket.set(socket, connection);
    this.#flowing.add(connection);
    socket.once('close', () => this.remove(socket));
    const refreshTimer = socket._unrefTimer;
    if (refreshTimer === undefined) return;
    socket._unrefTimer = () => {
      if (++this.#reads > FEW_READS && wasRead(connection)) this.press();
      refreshTimer.call(socket);
    };
  }

  /** Another takes over reading the connection, which is read now. */
  remove(socket: BrakedSocket): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    this.#bySocket.delete(socket);
    for (const place of [this.#flowing, this.#resting, this.#held]) place.delete(connection);
  }

  /** Something that was read has to wait for its turn. Thousands of calls may come of one read. */
  press(): void {
    if (this.#isHeld) return;
    const nowMs = this.#deps.nowMs();
    if (this.#phaseMs === undefined) {
      this.#phaseMs = nowMs;
      this.#schedule();
    } else if (nowMs - this.#phaseMs >= PHASE_MS) this.#hold(nowMs);
  }

  /** Those that were read rest: the kernel tells of them before the others, and one of them may end each phase. */
  #hold(nowMs: number): void {
    if (nowMs - this.#heldMs > FORGET_MS) {
      this.#flood++;
      this.#held.cool();
    }
    this.#heldMs = nowMs;
    this.#isHeld = true;
    for (const connection of this.#flowing) {
      const handle = handleOf(connection);
      if (handle === undefined || isStoppedByItself(connection.socket, handle)) continue;
      handle.readStop();
      this.#flowing.delete(connection);
      const isBusy = connection.flood === this.#flood && handle.bytesRead !== connection.bytesRead;
      if (isBusy) this.#resting.add(connection);
      else this.#held.add(connection, 'silent');
    }
    this.#held.heat(new Set([...this.#resting].map(({ lane }) => lane)));
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#deps.nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isScheduled = false;
    this.#isHeld = false;
    this.#phaseMs = undefined;
    this.#reads = 0;
    const isOpen = (lane: string | undefined): boolean => this.#deps.waitingOf(lane) < WAITING_OF_LANE;
    for (const connection of this.#held.take(AT_ONCE, isOpen)) this.#goOn(connection);
    for (const connection of this.#resting) this.#held.add(connection, 'busy');
    this.#resting.clear();
    if (this.held > 0) this.#schedule();
  };

  #goOn(connection: Connection): void {
    this.#flowing.add(connection);
    const handle = handleOf(connection);
    if (handle === undefined || isStoppedByItself(connection.socket, handle)) return;
    connection.bytesRead = handle.bytesRead;
    connection.flood = this.#flood;
    handle.readStart();
  }
}

/** The brake of this thread, which has one event loop. */
export const readBrake = new ReadBrake({
  nowMs: () => performance.now(),
  nextTurn: (callback) => {
    setImmediate(callback);
  },
  waitingOf: (lane) => loopTurns.waitingOf(lane),
});
