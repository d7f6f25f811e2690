// Loaded before a node: the node's time of day is ahead of the host's by FLEET_CLOCK_SHIFT milliseconds. Monotonic clocks
// stay as they are.
const shift = Number(process.env['FLEET_CLOCK_SHIFT'] ?? 0);
const HostDate = Date;

globalThis.Date = class extends HostDate {
  constructor(...given) {
    if (given.length === 0) super(HostDate.now() + shift);
    else super(...given);
  }

  static now() {
    return HostDate.now() + shift;
  }
};
