/// Whether the current task runs in virtual time, which passes whenever no task has anything left to do. Whoever waits
/// for a thread of the system there has to block instead.
package enum VirtualTime {
    @TaskLocal package static var isUnderWay = false
}
