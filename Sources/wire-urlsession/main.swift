// A program that errand-bench compares with: URLSession and JSONDecoder, used as in a typical app.
//     wire-urlsession <url> <tasks> <seconds>
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Model: Decodable {
    let id: Int
    let name: String
    let mail: String
    let friends: [Int]
    let active: Bool
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let url = URL(string: arguments[1]), let tasks = Int(arguments[2]),
    let seconds = Double(arguments[3])
else {
    print("wire-urlsession is run by errand-bench")
    exit(1)
}

let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = tasks
let session = URLSession(configuration: configuration)
let start = ContinuousClock.now
let calls = try await withThrowingTaskGroup(of: Int.self) { group in
    for _ in 0..<tasks {
        group.addTask {
            let decoder = JSONDecoder()
            var calls = 0
            while start.duration(to: .now) < .seconds(seconds) {
                let (data, _) = try await session.data(from: url)
                _ = try decoder.decode(Model.self, from: data)
                calls += 1
            }
            return calls
        }
    }
    var calls = 0
    for try await more in group { calls += more }
    return calls
}
let elapsed = start.duration(to: .now) / .seconds(1)
print(calls, elapsed)
