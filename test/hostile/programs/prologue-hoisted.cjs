// biome-ignore-all lint: the names are the attack
/* oxlint-disable */
// Hoists functions with the names that a prologue might call before this line is reached.
function Number() {
  console.log('HIJACKED');
}
function parseInt() {
  console.log('HIJACKED');
}
function readFileSync() {
  console.log('HIJACKED');
}
console.log('clean');
