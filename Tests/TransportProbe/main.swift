import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

// A process of its own for the tests of a transport that need another environment, or one in which nothing else runs:
//
//     TransportProbe get URL [proxy=none|PROXY] [pin=HASH] [identity=FILE] [authorities=FILE]
//         sends one request; prints the status and the body, or the kind of failure, whether the server may have
//         seen the request, and what was said
//     TransportProbe leftovers URL shutdown|drop
//         calls with ten clients and ends them; prints how many descriptors and threads there were before, meanwhile
//         and at the end

#if os(Linux)
let arguments = CommandLine.arguments.dropFirst().map { $0 }
guard arguments.count >= 2 else { exit(64) }

switch arguments[0] {
case "get":
    var options = CurlTransport.Options()
    for option in arguments.dropFirst(2) {
        let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { exit(64) }
        switch parts[0] {
        case "proxy": options.proxy = parts[1] == "none" ? .none : .url(parts[1])
        case "pin": options.pinnedPublicKeys = [parts[1]]
        case "identity": options.clientCertificate = .init(certificate: parts[1], key: parts[1])
        case "authorities": options.certificateAuthorities = parts[1]
        default: exit(64)
        }
    }
    do {
        let request = HTTPRequest(method: .get, url: try HTTPURL(arguments[1]))
        let response = try await CurlTransport(options).send(request, context: TransportContext())
        print(response.status, String(decoding: response.body.bytes ?? Data(), as: UTF8.self))
    } catch ServiceError.transport(let failure) {
        print(failure.kind.rawValue, failure.mayHaveReachedServer, failure.message)
    }
case "leftovers" where arguments.count == 3:
    try await Leftovers(url: arguments[1], isShutDown: arguments[2] == "shutdown").report()
default:
    exit(64)
}
#else
print("there is nothing to probe here")
#endif
