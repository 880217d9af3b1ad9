import Foundation

/// What a tutorial has its reader type: files of a package, one state after the other.
struct Walkthrough {
    /// A step: a file of the reader's, in the state that one of the tutorial's resources shows.
    struct Step: Equatable, CustomStringConvertible {
        /// The file's name in the reader's package.
        var name: String
        /// The resource.
        var file: String

        var description: String { "\(file), the reader's \(name)" }
    }

    /// The reader's package at one moment: each file's name and text.
    typealias State = [String: String]

    /// The steps, in their order.
    var steps: [Step] = []

    /// The steps of a tutorial, which are all that show code.
    init(_ tutorial: String) {
        steps = tutorial.matches(of: /@Code\(name: "(?<name>[^"]+)", file: "(?<file>[^"]+)"\)/)
            .map { Step(name: String($0.output.name), file: String($0.output.file)) }
    }

    /// The reader's package after each step.
    func states(reading resource: (String) throws -> String) rethrows -> [(step: Step, state: State)] {
        var state = State()
        return try steps.map { step in
            state[step.name] = try resource(step.file)
            return (step, state)
        }
    }
}

extension Walkthrough.State {
    /// The manifest by itself.
    var manifest: [String] { keys.filter { $0 == "Package.swift" } }
    /// The files of the library, in an order that is the same each time.
    var library: [String] { keys.filter { !$0.hasSuffix("Tests.swift") && $0 != "Package.swift" }.sorted() }
    /// The files of its tests.
    var tests: [String] { keys.filter { $0.hasSuffix("Tests.swift") }.sorted() }
}
