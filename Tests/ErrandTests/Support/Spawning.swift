import Foundation

/// Held while pipes are made and a process is started that gets them.
///
/// Foundation closes in a new process what is open when it looks. A pipe that is made just after that would stay open
/// there, and whoever reads from its other end would wait for a process that has nothing to do with it.
let spawning = NSLock()
