#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The exchanges of a transport, by their tasks, and its sessions. As the delegate of the sessions it passes what they
/// receive to each exchange.
///
/// A session retains its delegate until it has been invalidated, so this object outlives its last session.
final class URLSessionExchanges: NSObject, URLSessionDataDelegate {
    private struct State {
        var running: [ObjectIdentifier: URLSessionExchange] = [:]
        var kept: URLSession?
        /// All sessions that are still valid.
        var sessions: [ObjectIdentifier: URLSession] = [:]
        var isClosed = false
    }

    private let options: URLSessionTransport.Options
    /// What all sessions are made of; an error, which every request throws, if the user's settings cannot be used.
    private let configuration: Result<URLSessionConfiguration, ServiceError>
    private let queue = OperationQueue()
    private let state = Lock(State())
    private let over = Latch()

    init(_ options: URLSessionTransport.Options) {
        self.options = options
        configuration = Result { () throws(ServiceError) in try options.configuration() }
        // The callbacks of a request have to arrive in order.
        queue.maxConcurrentOperationCount = 1
    }

    /// Starts the request: in the kept session, or in one of its own, which has no connection yet.
    func begin(
        _ exchange: URLSessionExchange, _ request: URLRequest, file: URL?, inKeptSession isKept: Bool
    ) throws(ServiceError) {
        let configuration = try configuration.get()
        // Under the lock, because asking an invalidated session for a task ends the process.
        let begun: (task: URLSessionDataTask, session: URLSession)? = state.withLock { state in
            guard !state.isClosed else { return nil }
            let session = isKept ? state.kept ?? makeSession(configuration) : makeSession(configuration)
            if isKept { state.kept = session }
            state.sessions[ObjectIdentifier(session)] = session
            let task: URLSessionDataTask =
                if let file {
                    session.uploadTask(with: request, fromFile: file)
                } else {
                    session.dataTask(with: request)
                }
            state.running[ObjectIdentifier(task)] = exchange
            return (task, session)
        }
        guard let begun else {
            throw .transportShutDown(mayHaveReachedServer: false)
        }
        exchange.begin(begun.task)
        if !isKept { begun.session.finishTasksAndInvalidate() }
    }

    /// Prevents new requests. Returns the exchanges that are still running.
    @discardableResult
    func close() -> [URLSessionExchange] {
        let (running, kept, isOver) = state.withLock { state in
            state.isClosed = true
            return (Array(state.running.values), state.kept.take(), state.sessions.isEmpty)
        }
        kept?.finishTasksAndInvalidate()
        if isOver { over.open() }
        return running
    }

    /// Waits until the last session has been invalidated.
    func closed() async {
        await over.opened()
    }

    private func makeSession(_ configuration: URLSessionConfiguration) -> URLSession {
        URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
    }

    private func exchange(of task: URLSessionTask) -> URLSessionExchange? {
        state.withLock { $0.running[ObjectIdentifier(task)] }
    }

    private func end(_ task: URLSessionTask, _ error: (any Error)?) {
        state.withLock { $0.running.removeValue(forKey: ObjectIdentifier(task)) }?.end(error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // On Linux only this callback passes the head of the response.
        exchange(of: task)?.receive(response)
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        exchange(of: dataTask)?.receive(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        exchange(of: dataTask)?.receive(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        exchange(of: task)?.noteSent(Int(bytesSent))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        if let timings = Timings(metrics) { exchange(of: task)?.receive(timings) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // On Linux only this callback passes a redirect without a target.
        if error == nil, let response = task.response { exchange(of: task)?.receive(response) }
        end(task, error)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        #if canImport(Darwin)
        let verdict = options.serverTrust.verdict(on: challenge, options.developmentCertificate)
        if let error = verdict.error { exchange(of: task)?.stop(error) }
        let (disposition, credential) = verdict.disposition(of: challenge)
        completionHandler(disposition, credential)
        #else
        // The whole 401 has arrived. Default handling would never end the task; every other disposition would discard
        // the 401.
        end(task, nil)
        completionHandler(.cancelAuthenticationChallenge, nil)
        #endif
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let isLast = state.withLock { state in
            state.sessions[ObjectIdentifier(session)] = nil
            return state.isClosed && state.sessions.isEmpty
        }
        if isLast { over.open() }
    }
}
#endif
