import Errand
import ErrandFleet
import Foundation

// A node of a fleet, for tests and measurements that need several processes:
//
//     FleetNode STORE PERMITS PERIOD LIFETIME TASKS SECONDS FILE [RATE]
//
// It calls with as many tasks as TASKS for SECONDS, under a limit of PERMITS per PERIOD milliseconds, and writes a line
// to FILE for each call: the instants directly before and after its permit was used, in nanoseconds. STORE is a folder,
// or the address of an etcd or a Redis. TASKS may be several numbers with commas between them, which apply one after
// the other. The clock of the node runs at RATE, which is 1 for one that is right. It prints "ready".
//
//     FleetNode stop STORE LIFETIME SHAPE SERVER PLACE
//
// It stops itself at a place of a call to SERVER; see `StoppedCall`.
//
//     FleetNode speed STORE START SECONDS
//
// It calls from START on, in nanoseconds of the system's clock, for SECONDS, and prints how many calls it made per
// second. Without a STORE, which is empty then, it has a limiter of its own.

func store(_ text: String) -> any FleetStore {
    if text.hasPrefix("redis") { return RedisFleetStore(text) }
    return text.hasPrefix("http") ? EtcdFleetStore([text]) : FileFleetStore(folder: text)
}

func now() -> Instant {
    let time: any TimeSource = .system
    return time.now
}

/// Prints at once.
func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

/// Stamps each send where its permit is used.
final class Stamper: Transport {
    private let file: FileHandle

    init(file: FileHandle) {
        self.file = file
    }

    let features: TransportFeatures = [.observesStops, .usesPermits]

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let before = now()
        // Another permit is used somewhere in the wait for it: the stamp covers all of that.
        try await context.usePermit()
        let after = now()
        // At once: a process that is killed cannot flush a buffer.
        try file.write(contentsOf: Data("\(before.nanoseconds) \(after.nanoseconds)\n".utf8))
        return HTTPResponse(status: 204)
    }

    func shutdown() async {}
}

let arguments = CommandLine.arguments.dropFirst().map { $0 }
if arguments.first == "stop" {
    guard arguments.count == 6, let shape = StoppedCall.Shape(rawValue: arguments[3]),
        let lifetime = Int(arguments[2]), let place = Int(arguments[5])
    else { exit(64) }
    let call = await StoppedCall(shape, store: arguments[1], lifetime: lifetime, server: arguments[4])
    await call.run(at: place)
    exit(0)
}
if arguments.first == "speed" {
    guard arguments.count == 4, let start = Int64(arguments[2]), let seconds = Int(arguments[3]) else { exit(64) }
    let run = SpeedRun(arguments[1].isEmpty ? nil : store(arguments[1]))
    try await run.run(from: Instant(nanoseconds: start), for: .seconds(seconds))
    exit(0)
}
guard arguments.count == 7 || arguments.count == 8 else { exit(64) }
let time = SkewedTime(rate: arguments.count == 8 ? Double(arguments[7]) ?? 1 : 1)
let numbers = arguments.map { Int($0) ?? 1 }
let loads = arguments[4].split(separator: ",").compactMap { Int($0) }
guard FileManager.default.createFile(atPath: arguments[6], contents: nil),
    let file = try? FileHandle(forWritingTo: URL(fileURLWithPath: arguments[6]))
else { exit(66) }
let stamper = Stamper(file: file)
let fleet = Fleet(
    store: store(arguments[0]), name: "test", lifetime: .milliseconds(numbers[3]), time: time)
let client = APIClient("https://api.example.com") {
    $0.transport = stamper
    $0.limiter = fleet.limiter("api", .requests(numbers[1], per: .milliseconds(numbers[2])))
    $0.timeout = nil
    $0.time = time
}
let start = now()
let end = start.advanced(by: .seconds(numbers[5]))

/// Returns how many tasks call now.
func tasks() -> Int {
    let part = Int(start.duration(to: now()) / .milliseconds(1)) * loads.count / max(1, numbers[5] * 1000)
    return loads[min(loads.count - 1, part)]
}

say("ready")
await withTaskGroup { group in
    for number in 0..<(loads.max() ?? 0) {
        group.addTask {
            while now() < end {
                if number < tasks() {
                    let left = now().duration(to: end)
                    _ = try? await client.run(Endpoint<NoContent>.get("/").deadline(left))
                } else {
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
        }
    }
}
await fleet.leave()
