/// The place of work on a file. Paths that are written differently are different places.
struct DiskPlace: Sendable, Hashable {
    let folder: String
    let file: String

    init(_ path: String) {
        file = path
        folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    init(folder: String, file: String) {
        self.folder = folder
        self.file = file
    }
}

/// Decides which work on files runs now, and which waits.
///
/// A disk may hang, and work on it with it. Which folders lie on one disk cannot be found out without asking the disks,
/// so the folders share the threads:
///
/// - All work on one file is done one after the other, in the order in which it came. So what a caller has left behind
///   is over before the next work on the file begins.
/// - The files of a folder are served in rotation, and so are the folders.
/// - A folder never has all of the places: a disk that begins to hang does not hold up the others.
/// - Work that takes longer than `timeLimit` is stuck. It keeps its thread, but not its place, until there are as many
///   threads as there may be, for the folder or in all.
///
/// States of work: waiting, running, stuck, and gone (done, or withdrawn while it waited). A file is in its folder's
/// queue exactly if work on it waits and none runs; a folder is in the queue of folders if it is not known that none of
/// its files can have a place.
struct DiskSchedule<Job: Sendable>: Sendable {
    struct Limits: Sendable {
        /// The number of places. More would not help a disk.
        var places = 3
        /// The number of threads, with those of stuck work: what Dispatch allows as well.
        var threads = 64
        /// When work counts as stuck. A disk that is only slow needs no more threads before.
        var timeLimit = Duration.seconds(1)

        var placesOfFolder: Int { max(1, places - 1) }
        var threadsOfFolder: Int { max(placesOfFolder, threads / 8) }
    }

    /// The number of a piece of work: later ones are larger.
    typealias Ticket = Int

    private struct File {
        var waiting = Queue<(ticket: Ticket, job: Job)>()
        var isBusy = false

        /// Whether there is nothing to know of the file.
        var isIdle: Bool { waiting.isEmpty && !isBusy }
    }

    private struct Folder {
        var files = Queue<DiskPlace>()
        var working = 0
        var stuck = 0
        var isInQueue = false

        /// Whether there is nothing to know of the folder.
        var isIdle: Bool { files.isEmpty && working == 0 && stuck == 0 && !isInQueue }
    }

    private struct Running {
        let place: DiskPlace
        let began: Instant
        var isStuck = false
    }

    let limits: Limits
    private var files: [DiskPlace: File] = [:]
    private var folders: [String: Folder] = [:]
    private var queue = Queue<String>()
    private var running: [Ticket: Running] = [:]
    private var working = 0
    private var lastTicket = 0
    /// The number of pieces of work that wait.
    private(set) var waiting = 0

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// The number of pieces of work that are stuck.
    var stuck: Int { running.count - working }

    /// When to look again for stuck work, if any work waits.
    var nextCheck: Instant? {
        guard waiting > 0 else { return nil }
        return running.values.filter { !$0.isStuck }.map(\.began).min()?.advanced(by: limits.timeLimit)
    }

    /// Adds work.
    mutating func submit(_ job: Job, at place: DiskPlace) -> Ticket {
        lastTicket += 1
        waiting += 1
        let isFirst = files[place, default: File()].isIdle
        files[place, default: File()].waiting.append((lastTicket, job))
        if isFirst { enqueue(place) }
        return lastTicket
    }

    /// Removes work that waits, and returns it; `nil` if it has begun, or was removed before.
    mutating func withdraw(_ ticket: Ticket, at place: DiskPlace) -> Job? {
        guard let job = files[place]?.waiting.removeFirst(where: { $0.ticket == ticket })?.job else { return nil }
        waiting -= 1
        guard let file = files[place], file.isIdle else { return job }
        files[place] = nil
        _ = folders[place.folder]?.files.removeFirst { $0 == place }
        return job
    }

    /// Begins the next work that may run; `nil` if there is none.
    mutating func begin(at now: Instant) -> (ticket: Ticket, job: Job)? {
        guard working < limits.places, running.count < limits.threads else { return nil }
        while let name = queue.popFirst() {
            folders[name]?.isInQueue = false
            guard folders[name].map(mayRun) ?? false else { continue }
            guard let place = folders[name]?.files.popFirst(), let (ticket, job) = files[place]?.waiting.popFirst()
            else {
                // All of its work was withdrawn.
                if folders[name]?.isIdle ?? true { folders[name] = nil }
                continue
            }
            folders[name]?.working += 1
            files[place]?.isBusy = true
            running[ticket] = Running(place: place, began: now)
            working += 1
            waiting -= 1
            enqueue(name)
            return (ticket, job)
        }
        return nil
    }

    /// Notes that work is done.
    mutating func end(_ ticket: Ticket) {
        guard let done = running.removeValue(forKey: ticket) else { return }
        let (place, name) = (done.place, done.place.folder)
        if done.isStuck {
            folders[name]?.stuck -= 1
        } else {
            folders[name]?.working -= 1
            working -= 1
        }
        files[place]?.isBusy = false
        if files[place]?.isIdle ?? true { files[place] = nil } else { folders[name]?.files.append(place) }
        if folders[name]?.isIdle ?? true { folders[name] = nil } else { enqueue(name) }
    }

    /// Gives the places of stuck work to others.
    mutating func replaceStuck(at now: Instant) {
        for (ticket, work) in running where !work.isStuck && work.began.advanced(by: limits.timeLimit) <= now {
            running[ticket]?.isStuck = true
            working -= 1
            folders[work.place.folder]?.working -= 1
            folders[work.place.folder]?.stuck += 1
            enqueue(work.place.folder)
        }
    }

    private func mayRun(_ folder: Folder) -> Bool {
        folder.working < limits.placesOfFolder && folder.working + folder.stuck < limits.threadsOfFolder
    }

    private mutating func enqueue(_ place: DiskPlace) {
        folders[place.folder, default: Folder()].files.append(place)
        enqueue(place.folder)
    }

    private mutating func enqueue(_ name: String) {
        guard let folder = folders[name], !folder.isInQueue, !folder.files.isEmpty, mayRun(folder) else { return }
        folders[name]?.isInQueue = true
        queue.append(name)
    }
}
