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
/// A disk may hang, and work on it with it. So the disks share the threads:
///
/// - All work on one file is done one after the other, in the order in which it came. So what a caller has left behind
///   is over before the next work on the file begins.
/// - The files of a folder are served in rotation, and so are the folders of a disk, and the disks.
/// - A disk never has all of the places: one that begins to hang does not hold up the others.
/// - Work that takes longer than `timeLimit` is stuck. It keeps its thread, but not its place, until there are as many
///   threads as there may be, for the disk or in all. A disk with stuck work does nothing else but one more piece of
///   work at a time, however many folders it has.
///
/// On which disk a folder is can turn out to be wrong while work on it is stuck. Then the folder moves.
///
/// States of work: waiting, running, stuck, and gone (done, or withdrawn while it waited). A file is in its folder's
/// queue exactly if work on it waits and none runs, and a folder is in its disk's queue exactly if its own is not
/// empty; a disk is in the queue of disks if it is not known that it can have no place.
struct DiskSchedule<Job: Sendable>: Sendable {
    struct Limits: Sendable {
        /// The number of places. More would not help a disk.
        var places = 4
        /// The number of threads, with those of stuck work: what Dispatch allows as well.
        var threads = 64
        /// When work counts as stuck. A disk that is only slow needs no more threads before.
        var timeLimit = Duration.seconds(1)

        var placesOfDisk: Int { max(1, places - 1) }
        var threadsOfDisk: Int { max(placesOfDisk, threads / 8) }
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
        /// Any of its files.
        let place: DiskPlace
        var disk: String
        var files = Queue<DiskPlace>()
        var running = 0
    }

    private struct Disk {
        var folders = Queue<String>()
        var working = 0
        var stuck = 0
        var isInQueue = false

        /// Whether there is nothing to know of the disk.
        var isIdle: Bool { folders.isEmpty && working == 0 && stuck == 0 && !isInQueue }
    }

    private struct Running {
        let place: DiskPlace
        var disk: String
        let began: Instant
        var isStuck = false
    }

    let limits: Limits
    private var files: [DiskPlace: File] = [:]
    private var folders: [String: Folder] = [:]
    private var disks: [String: Disk] = [:]
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

    /// Adds work. `disk` is the one of its folder, unless there is work in the folder already.
    mutating func submit(_ job: Job, at place: DiskPlace, on disk: String) -> Ticket {
        lastTicket += 1
        waiting += 1
        if folders[place.folder] == nil { folders[place.folder] = Folder(place: place, disk: disk) }
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
        guard var folder = folders[place.folder], folder.files.removeFirst(where: { $0 == place }) != nil else {
            return job
        }
        if folder.files.isEmpty { _ = disks[folder.disk]?.folders.removeFirst { $0 == place.folder } }
        settle(place.folder, folder)
        return job
    }

    /// Begins the next work that may run; `nil` if there is none.
    mutating func begin(at now: Instant) -> (ticket: Ticket, job: Job)? {
        guard working < limits.places, running.count < limits.threads else { return nil }
        while let name = queue.popFirst() {
            disks[name]?.isInQueue = false
            guard disks[name].map(mayRun) ?? false, let place = nextPlace(on: name),
                let (ticket, job) = files[place]?.waiting.popFirst()
            else {
                // All of its work was withdrawn, or has moved.
                if disks[name]?.isIdle ?? true { disks[name] = nil }
                continue
            }
            disks[name]?.working += 1
            folders[place.folder]?.running += 1
            files[place]?.isBusy = true
            running[ticket] = Running(place: place, disk: name, began: now)
            working += 1
            waiting -= 1
            enqueue(disk: name)
            return (ticket, job)
        }
        return nil
    }

    /// Notes that work is done.
    mutating func end(_ ticket: Ticket) {
        guard let done = running.removeValue(forKey: ticket) else { return }
        let place = done.place
        if done.isStuck {
            disks[done.disk]?.stuck -= 1
        } else {
            disks[done.disk]?.working -= 1
            working -= 1
        }
        files[place]?.isBusy = false
        if files[place]?.isIdle ?? true { files[place] = nil } else { enqueue(place) }
        if var folder = folders[place.folder] {
            folder.running -= 1
            settle(place.folder, folder)
        }
        enqueue(disk: done.disk)
    }

    /// Gives the places of stuck work to others. Returns the disks on which work has been stuck since then.
    mutating func replaceStuck(at now: Instant) -> Set<String> {
        var found: Set<String> = []
        for (ticket, work) in running where !work.isStuck && work.began.advanced(by: limits.timeLimit) <= now {
            running[ticket]?.isStuck = true
            working -= 1
            disks[work.disk]?.working -= 1
            disks[work.disk]?.stuck += 1
            enqueue(disk: work.disk)
            found.insert(work.disk)
        }
        return found
    }

    /// Returns a place in each folder of that disk on which there is work.
    func places(on disk: String) -> [DiskPlace] {
        folders.values.filter { $0.disk == disk }.map(\.place)
    }

    /// Moves a folder, and the work on it, to the disk that it is on.
    mutating func move(_ name: String, to disk: String) {
        guard var folder = folders[name], folder.disk != disk else { return }
        let former = folder.disk
        folder.disk = disk
        for (ticket, work) in running where work.place.folder == name && work.disk == former {
            running[ticket]?.disk = disk
            let count: WritableKeyPath<Disk, Int> = work.isStuck ? \.stuck : \.working
            disks[former]?[keyPath: count] -= 1
            disks[disk, default: Disk()][keyPath: count] += 1
        }
        folders[name] = folder
        if disks[former]?.folders.removeFirst(where: { $0 == name }) != nil {
            disks[disk, default: Disk()].folders.append(name)
        }
        for changed in [former, disk] { enqueue(disk: changed) }
    }

    private func mayRun(_ disk: Disk) -> Bool {
        disk.working < (disk.stuck > 0 ? 1 : limits.placesOfDisk) && disk.working + disk.stuck < limits.threadsOfDisk
    }

    /// Takes the next file of the next folder of a disk.
    private mutating func nextPlace(on disk: String) -> DiskPlace? {
        guard let name = disks[disk]?.folders.popFirst(), let place = folders[name]?.files.popFirst() else {
            return nil
        }
        if folders[name]?.files.isEmpty == false { disks[disk]?.folders.append(name) }
        return place
    }

    private mutating func enqueue(_ place: DiskPlace) {
        guard var folder = folders[place.folder] else { return }
        if folder.files.isEmpty { disks[folder.disk, default: Disk()].folders.append(place.folder) }
        folder.files.append(place)
        folders[place.folder] = folder
        enqueue(disk: folder.disk)
    }

    private mutating func enqueue(disk name: String) {
        guard let disk = disks[name], !disk.isInQueue else { return }
        if disk.isIdle {
            disks[name] = nil
        } else if !disk.folders.isEmpty, mayRun(disk) {
            disks[name]?.isInQueue = true
            queue.append(name)
        }
    }

    /// Stores what is known of a folder, or forgets the folder if that is nothing.
    private mutating func settle(_ name: String, _ folder: Folder) {
        folders[name] = folder.files.isEmpty && folder.running == 0 ? nil : folder
    }
}
