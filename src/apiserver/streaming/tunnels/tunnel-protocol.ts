/**
 * The protocol between agent and API server for nodes behind NAT or a firewall. The agent upgrades a request to
 * `TUNNEL_PATH`, the tunnel; on it the server sends a line with an id for each connection it wants to the kubelet.
 * For each id the agent upgrades another request, `?connection=ID`, and joins it to its kubelet, so that TLS between
 * server and kubelet is end-to-end. Modelled on k3s's remotedialer, without its frames, since each connection is
 * separate.
 */
export const TUNNEL_PATH = '/keelson/v1/tunnel';
export const TUNNEL_PROTOCOL = 'keelson-tunnel';
/** The parameter with the id of a wanted connection. */
export const CONNECTION = 'connection';
export const CONNECTION_ID = /^[0-9a-f]{32}$/;
